# The checks need python3 only; the lab's tests need Debian's numpy, matplotlib, jinja2 and jsonschema, which the
# system's interpreter has and another python3 earlier on PATH may not have.
find_program(COFLUX_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(COFLUX_PYTHON python3 REQUIRED)
mark_as_advanced(COFLUX_PYTHON)

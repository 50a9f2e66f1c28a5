# The version is written twice: in project(), for packages, and in version.hpp, for programs. They must agree.
set(version_header "${PROJECT_SOURCE_DIR}/include/coflux/version.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")
file(READ "${version_header}" version_text)

foreach(part IN ITEMS MAJOR MINOR PATCH)
    if(NOT version_text MATCHES "#[ \t]*define[ \t]+COFLUX_VERSION_${part}[ \t]+([0-9]+)")
        message(FATAL_ERROR "include/coflux/version.hpp does not define COFLUX_VERSION_${part}")
    endif()
    if(NOT CMAKE_MATCH_1 EQUAL PROJECT_VERSION_${part})
        message(FATAL_ERROR
            "COFLUX_VERSION_${part} is ${CMAKE_MATCH_1} in include/coflux/version.hpp and ${PROJECT_VERSION_${part}} "
            "in CMakeLists.txt: change both together")
    endif()
endforeach()

unset(version_header)
unset(version_text)

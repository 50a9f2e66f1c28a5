# Debian 12's g++ is too old for Coflux: there what needs g++ runs in a root of Debian 13 (scripts/root). Sourced, from the
# root of the tree.

# Whether this machine's g++ is one that Coflux takes.
has_gcc() {
    local version
    version="$(g++ -dumpfullversion 2>/dev/null)" && printf '13.3\n%s\n' "$version" | sort --version-sort --check=quiet
}

# A command of this checkout where such a g++ is.
with_gcc() {
    if has_gcc; then
        "$@"
    else
        scripts/root trixie -- "$@"
    fi
}

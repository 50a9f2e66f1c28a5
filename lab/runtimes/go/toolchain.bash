# Which Go builds the adapter: for scripts/lab and scripts/setup, which source this.

go_minimum=1.19

# Where Go's own archive puts it, which need not be on PATH.
go_archive="${LAB_GO_ARCHIVE:-/usr/local/go}"

# The version of a go: 1.26.8. Nothing where it does not run.
go_version() {
    "$1" version 2>/dev/null | sed --quiet 's/^go version go\([0-9][0-9.]*\).*/\1/p'
}

# Prints the newest go that there is and that is not too old, or fails and prints why there is none.
find_go() {
    local go version best='' best_version=0 seen=''
    for go in "$(command -v go || true)" "$go_archive/bin/go"; do
        [[ -x "$go" ]] && version="$(go_version "$go")" && [[ -n "$version" ]] || continue
        seen="go $version is older than $go_minimum: install golang-go"
        if printf '%s\n' "$best_version" "$version" | sort --version-sort --check=quiet; then
            best="$go" best_version="$version"
        fi
    done
    if [[ -n "$best" ]] && printf '%s\n' "$go_minimum" "$best_version" | sort --version-sort --check=quiet; then
        printf '%s\n' "$best"
    else
        printf '%s\n' "${seen:-no go: install golang-go}"
        return 1
    fi
}

# The C++ adapters are compiled with -march=native. Go has levels of amd64; v3 is the one of AVX2, and its compiler
# makes no use of v4.
go_amd64_level() {
    local flag
    for flag in avx2 bmi1 bmi2 fma movbe abm f16c; do
        grep --quiet --word-regexp "$flag" /proc/cpuinfo || { echo v1; return; }
    done
    echo v3
}

# Builds the adapter in folder $2 to the file $3, by the go $1. No dependencies, so no registry is asked, and no other
# toolchain is fetched.
build_go_adapter() {
    (cd "$2" && GOTOOLCHAIN=local GOPROXY=off GOFLAGS='' GOWORK=off CGO_ENABLED=0 GOAMD64="$(go_amd64_level)" \
        "$1" build -trimpath -buildvcs=false -o "$3" .)
}

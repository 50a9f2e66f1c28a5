# What .ci/run and scripts/ladder share: steps with a log each, of which the first that fails ends the run. Sourced,
# from the root of the tree.

# What the steps leave behind goes to the folder $1, which is emptied; what their programs counted to $1/reliability.
begin_steps() {
    logs="$1"
    figures="$logs/reliability"
    rm -rf "$logs"
    mkdir -p "$figures"
    test_steps=()
    started=$SECONDS
}

step() {
    local name="$1" begun=$SECONDS status=0
    shift
    printf '\n==== %s: %s\n' "$name" "$*"
    "$@" 2>&1 </dev/null | tee "$logs/$name.log" || status=$?
    printf '%s %s\n' "$name" "$((SECONDS - begun))" >>"$figures/steps.txt"
    if [[ $status -ne 0 ]]; then
        printf '\n==== %s FAILED with status %s after %s s; log: %s\n' \
            "$name" "$status" "$((SECONDS - begun))" "$logs/$name.log"
        exit 1
    fi
    printf '==== %s: done in %s s, %s s in all\n' "$name" "$((SECONDS - begun))" "$((SECONDS - started))"
}

# A step whose log has what ctest said.
test_step() {
    step "$@"
    test_steps+=("$1")
}

# scripts/test with the preset $2 and the labels that follow, as a step called $1.
label_step() {
    local name="$1" preset="$2" arguments=()
    shift 2
    for label in "$@"; do arguments+=(--label "$label"); done
    test_step "$name" scripts/test --no-setup --report "$figures" --preset "$preset" "${arguments[@]}"
}

end_steps() {
    printf '\n==== what ctest said:\n'
    local name
    for name in "${test_steps[@]}"; do
        printf '\n-- %s\n' "$name"
        # A step of two presets has two closing blocks, each up to the heading of the next preset.
        awk '/tests passed, / { closing = 1 } /^== / { closing = 0 } closing' "$logs/$name.log"
    done
    printf '\n==== all steps passed; seconds of each:\n'
    awk '{ printf "%-18s %6d\n", $1, $2; all += $2 } END { printf "%-18s %6d\n", "all", all }' "$figures/steps.txt"
}

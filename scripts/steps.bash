# What .ci/run and scripts/ladder share: steps with a log each, of which the first that fails ends the run. Sourced,
# from the root of the tree.

# The process of each command that goes on ahead.
declare -A ahead_processes=()

# ahead NAME COMMAND...: runs it when those before it have ended, beside the steps and in the processors' time that they
# leave, because a test waits as much as it computes. The step of that name waits for it first; without a command of its
# own it shows what was said.
ahead() {
    local name="$1" before="${last_ahead-}"
    shift
    (
        [[ -z "$before" ]] || tail --pid="$before" --follow /dev/null
        set -m  # so that it is a group, which ends as one
        nice -n 19 "$@" &
        trap "kill -- -$! 2>/dev/null" TERM
        wait $!
    ) >"$logs/$name.ahead.log" 2>&1 </dev/null &
    last_ahead=$!
    ahead_processes[$name]=$!
}

# What the steps leave behind goes to the folder $1, which is emptied; what their programs counted to $1/reliability.
begin_steps() {
    logs="$1"
    figures="$logs/reliability"
    rm -rf "$logs"
    mkdir -p "$figures"
    test_steps=()
    started=$SECONDS
    # A run that ends early leaves nothing behind.
    trap '[[ ${#ahead_processes[@]} -eq 0 ]] || kill "${ahead_processes[@]}" 2>/dev/null' EXIT
}

step() {
    local name="$1" begun=$SECONDS status=0
    shift
    printf '\n==== %s: %s\n' "$name" "$*"
    if [[ -n "${ahead_processes[$name]-}" ]]; then
        wait "${ahead_processes[$name]}" || status=$?
        unset "ahead_processes[$name]"
        [[ $status -eq 0 && $# -gt 0 ]] || cat "$logs/$name.ahead.log"
    fi
    if [[ $status -eq 0 && $# -gt 0 ]]; then
        "$@" 2>&1 </dev/null | tee "$logs/$name.log" || status=$?
    fi
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

# What scripts/test is given for the preset $1 and the labels that follow, in `arguments`.
take_labels() {
    arguments=(--no-setup --preset "$1")
    for label in "${@:2}"; do arguments+=(--label "$label"); done
}

# scripts/test with the preset $2 and the labels that follow, as a step called $1.
label_step() {
    local arguments
    take_labels "${@:2}"
    test_step "$1" scripts/test --report "$figures" "${arguments[@]}"
}

# Only the build of that step, ahead.
build_ahead() {
    local arguments
    take_labels "${@:2}"
    ahead "$1" scripts/test --no-run "${arguments[@]}"
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

#!/usr/bin/env bash
# cli_device_kit - gpu_steps runs several tests and refuses unknown names. bench/engine ends at its time limit.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
[ -x "$SUTRA_BUILD/tests/gpu_steps" ] || { echo "skipped: gpu_steps was not built: it needs cmocka"; exit 77; }
for tool in objdump python3; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
n_failed=0
failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# expect STATUS WHAT COMMAND...: the command exits with this status; its output is in $work/out
expect() {
    local expected=$1 what=$2 status
    shift 2
    "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    [ $status = "$expected" ] || { failed "$what: exit status $status instead of $expected" && cat "$work/out"; }
}
# prints REGEX: the last output has such a line
prints() { grep -qE "$1" "$work/out" || { failed "no line matches: $1" && cat "$work/out"; }; }

# ---- gpu_steps ----

expect 64 "gpu_steps with an unknown name" "$SUTRA_BUILD/tests/gpu_steps" '*random_tables' no_such_test
prints "no test has the name 'no_such_test'"
prints '^  both_engines_agree_on_random_tables$'
host_steps=$SUTRA_BUILD/tests/gpu_steps_on_host_gpu
if [ -x "$host_steps" ]; then
    expect 0 "gpu_steps with two names" "$host_steps" '*_columns_at_the_edges_of_warps' '*_works_in_pieces'
    [ "$(grep -c '  OK ' "$work/out")" = 2 ] || failed "gpu_steps runs other tests: $(cat "$work/out")"
fi

# ---- bench/engine ends at its time limit, and writes its JSON ----

expect 1 "bench/engine with a long row" bench/engine --build "$SUTRA_BUILD" --sizes 1e7 --shapes recorded --seconds 0.5
prints 'recorded, 10,000,000 operators: no time left$'
expect 1 "bench/engine with a long command" bench/engine --build "$SUTRA_BUILD" --sizes "" --events 1e6 --seconds 0.5 \
    --json "$work/json"
prints 'link, 1,000,000 events: no time left$'
grep -q '"commands": \[\]' "$work/json" || failed "bench/engine: no JSON"

echo "$n_failed failed"
[ $n_failed = 0 ]

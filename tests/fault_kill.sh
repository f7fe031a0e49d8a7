# fault_kill.sh - tests kills and interrupts during writes; usage: fault_kill.sh [N], the number of tries per signal and
# command (1).
#
# A killed program leaves at most one hidden file, which the next run with the same output removes. An interrupted
# program leaves nothing, also with two outputs. A directory of results is complete or contains incomplete.sutra.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
n_failed=0 n_hit=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# gen: 60,000 events, or as many as are told.
gen() {
    "$SUTRA" gen --events "${1:-60k}" --seed 4 --host "$work/out/host.json" --device "$work/out/device.json"
}

# The default action of SIGHUP, which nohup ignores.
defaults="env --default-signal=HUP"
$defaults true 2>/dev/null || defaults=

# hit SIGNAL: starts gen and sends it the signal once a file is there.
hit() {
    # shellcheck disable=SC2086
    exec $defaults "$SUTRA" gen --events 600k --seed 4 --host "$work/out/host.json" --device "$work/out/device.json" &
    program=$!
    while [ -z "$(ls -A "$work/out")" ] && kill -0 $program 2>/dev/null; do :; done
    kill -"$1" $program 2>/dev/null
    { wait $program; } 2>/dev/null
    code=$?
    [ $code = 0 ] || n_hit=$((n_hit + 1))
}

n_rounds=${1:-1}
for signal in $(for _ in $(seq "$n_rounds"); do echo TERM HUP KILL; done); do
    hit $signal
    if [ $code != 0 ]; then
        [ -z "$(ls "$work/out")" ] || failed "$signal: files with their final names: $(ls "$work/out")"
        [ $signal = KILL ] || [ -z "$(ls -A "$work/out")" ] || failed "$signal: left over: $(ls -A "$work/out")"
    fi
    gen || failed "$signal: the next run"
    [ "$(ls -A "$work/out" | tr '\n' ' ')" = "device.json host.json " ] || failed "$signal: $(ls -A "$work/out")"
    rm -f "$work"/out/*
done
# analyze COMMAND: kills an analysis that writes, somewhat later each time, and tells a folder of which files are missing.
analyze() {
    exec "$SUTRA" analyze "$1" "$work/out/device.json" -o "$work/tables" -q 2>/dev/null &
    program=$!
    while [ ! -e "$work/tables/incomplete.sutra" ] && kill -0 $program 2>/dev/null; do :; done
    sleep "0.00$((RANDOM % 10))$((RANDOM % 10))"
    kill -KILL $program 2>/dev/null
    { wait $program; } 2>/dev/null
    [ $? = 0 ] || n_hit=$((n_hit + 1))
    [ ! -e "$work/tables" ] || [ -e "$work/tables/incomplete.sutra" ] ||
        diff -rq "$work/whole.$1" "$work/tables" || failed "analyze $1: a folder that is not whole and does not say so"
    "$SUTRA" analyze "$1" "$work/out/device.json" -o "$work/tables" -q 2>/dev/null
    diff -rq "$work/whole.$1" "$work/tables" || failed "analyze $1: the next run"
    rm -rf "$work/tables"
}

gen 5k || failed "gen"
for command in hta dlrm; do
    "$SUTRA" analyze $command "$work/out/device.json" -o "$work/whole.$command" -q 2>/dev/null
    for _ in $(seq "$((3 * n_rounds))"); do
        analyze $command
    done
done
[ $n_hit -gt 0 ] || failed "no run was hit"
echo "$n_hit hit, $n_failed failed"
[ $n_failed = 0 ]

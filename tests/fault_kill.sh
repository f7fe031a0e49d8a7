# fault_kill.sh - a program that is killed while it writes leaves at most one hidden file, which the next run to the same
# place removes; one that is interrupted leaves nothing, also where it writes two files.
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

# hit SIGNAL: starts gen and sends it the signal once a file is there.
hit() {
    exec "$SUTRA" gen --events 600k --seed 4 --host "$work/out/host.json" --device "$work/out/device.json" &
    program=$!
    while [ -z "$(ls -A "$work/out")" ] && kill -0 $program 2>/dev/null; do :; done
    kill -"$1" $program 2>/dev/null
    { wait $program; } 2>/dev/null
    code=$?
    [ $code = 0 ] || n_hit=$((n_hit + 1))
}

for signal in TERM HUP KILL; do
    hit $signal
    if [ $code != 0 ]; then
        [ -z "$(ls "$work/out")" ] || failed "$signal: files with their final names: $(ls "$work/out")"
        [ $signal = KILL ] || [ -z "$(ls -A "$work/out")" ] || failed "$signal: left over: $(ls -A "$work/out")"
    fi
    gen || failed "$signal: the next run"
    [ "$(ls -A "$work/out" | tr '\n' ' ')" = "device.json host.json " ] || failed "$signal: $(ls -A "$work/out")"
    rm -f "$work"/out/*
done
[ $n_hit -gt 0 ] || failed "no run was hit"
echo "$n_hit hit, $n_failed failed"
[ $n_failed = 0 ]

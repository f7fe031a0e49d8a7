# fault_interrupt.sh - tests termination by a signal during a write: the old output stays and no other file is left.
#
# The signal is sent when the temporary file appears. A link that completes before the signal must succeed; at least one
# run must be interrupted.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
n_failed=0 n_hit=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# The default action of SIGHUP, which nohup ignores.
defaults="env --default-signal=HUP"
$defaults true 2>/dev/null || defaults=

# interrupt SIGNAL CODE OPTION...: links over an old file and ends that when the new one appears beside it.
interrupt() {
    signal=$1 wanted=$2
    shift 2
    echo old >"$work/out/out.json"
    # shellcheck disable=SC2086
    $defaults "$SUTRA" link "$work/host.json" "$work/device.json" -o "$work/out/out.json" --no-sync -q "$@" 2>"$work/err" &
    program=$!
    while [ "$(ls -A "$work/out")" = out.json ] && kill -0 $program 2>/dev/null; do :; done
    kill -"$signal" $program 2>/dev/null
    { wait $program; } 2>/dev/null
    code=$?
    if [ $code = 0 ]; then
        head -c 1 "$work/out/out.json" | grep -q '{' || failed "$signal: success without a file"
    else
        n_hit=$((n_hit + 1))
        [ $code = "$wanted" ] || failed "$signal: exit $code"
        [ "$(cat "$work/out/out.json")" = old ] || failed "$signal: the old output is gone"
    fi
    [ "$(ls -A "$work/out")" = out.json ] || failed "$signal: left over: $(ls -A "$work/out")"
    rm -rf "${work:?}"/out/* "$work"/out/.[!.]*
}

"$SUTRA" gen --events 60k --seed 4 --host "$work/host.json" --device "$work/device.json" || exit 1
for threads in 1 2; do
    interrupt TERM 143 --threads $threads
    interrupt HUP 129 --threads $threads
    interrupt TERM 143 --threads $threads --rank 1
done
[ $n_hit -gt 0 ] || failed "no link was interrupted"
echo "$n_hit interrupted, $n_failed failed"
[ $n_failed = 0 ]

# fault_interrupt.sh - a program that is ended while it writes leaves the old output and no other file behind.
#
# Signals are sent when the temporary file is seen. Should a link be done before its signal comes, it must have succeeded;
# at least one must have been hit.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
n_failed=0 n_hit=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# interrupt SIGNAL CODE OPTION...: links over an old file and ends that when the new one appears beside it.
interrupt() {
    signal=$1 wanted=$2
    shift 2
    echo old >"$work/out/out.json"
    "$SUTRA" link "$work/host.json" "$work/device.json" -o "$work/out/out.json" --no-sync -q "$@" 2>"$work/err" &
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

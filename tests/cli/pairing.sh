# Traces of two ranks or runs, rf_ids of 0, other steps: all three commands report cause and remedy; --strict fails.
. "$TOOLS/common.sh"
# pair HOST_PID HOST_TIME RF...: a host trace and a device trace of four operators; the device's ids are 7 to 10.
pair() {
    printf '{"schema": "1.1.1-chakra.0.0.4", "pid": %s, "time": "%s", "start_ts": 5000, "nodes": [\n' "$1" "$2"
    lists='"inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}'
    printf '{"id": 1, "name": "root", "ctrl_deps": 1, %s, "attrs": []}' "$lists"
    shift 2
    id=1
    for rf; do
        id=$((id + 1))
        printf ',\n{"id": %s, "name": "aten::add", "ctrl_deps": 1, %s, ' $id "$lists"
        printf '"attrs": [{"name": "rf_id", "type": "uint64", "value": %s}]}' "$rf"
    done
    echo '], "finish_ts": 6000}'
}
{
    echo '{"baseTimeNanoseconds": 1790857026000000000, "traceEvents": ['
    for i in 7 8 9 10; do
        [ $i = 7 ] || echo ,
        printf '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 20, "tid": 20, "ts": 43912002455%02d, "dur": 9, ' $i
        printf '"args": {"External id": %s, "Record function id": %s, "Ev Idx": %s}}' $i $i $((i - 7))
    done
    echo ']}'
} >device.json
both() {
    sutra link host.json device.json --match ids --no-sync -o out.json -q 2>&1
    sutra link host.json device.json --match ids --no-sync -o strict.json -q --strict 2>/dev/null
    echo "strict: exit $?"
    sutra info host.json device.json
    sutra info host.json device.json --json | grep -e fits -e cause
}
echo "--- one rank"
pair 20 '2026-11-21 08:03:46' 7 8 9 10 >host.json && both
echo "--- one rank, a clock of another zone"
pair 20 '2026-11-21 13:33:46' 7 8 9 10 >host.json && both
echo "--- two ranks"
pair 21 '2026-11-21 08:03:46' 7 8 9 10 >host.json && both
sutra link-legacy host.json device.json -o legacy.json -q 2>&1
sutra link-legacy host.json device.json -o legacy.json -q --strict
echo "strict: exit $?"
echo "--- two runs"
pair 20 '2026-11-21 08:08:46' 7 8 9 10 >host.json && both
echo "--- times in nanoseconds"
pair 20 '2026-11-21 08:03:46' 7 8 9 10 >host.json
cp device.json us.json
sed -E 's/"ts": ([0-9]+), "dur": 9/"ts": \1000, "dur": 9000/' us.json >device.json
both
cp us.json device.json
echo "--- times of GPU activities in nanoseconds"
for base in 10 1000000000000; do # microseconds; the larger one has no time in ns that can be true
    {
        echo '{"traceEvents": ['
        for i in 7 8 9 10; do
            [ $i = 7 ] || echo ,
            printf '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 20, "tid": 20, "ts": %s, "dur": 9, ' $((base + 10 * i))
            printf '"args": {"External id": %s, "Record function id": %s}},\n' $i $i
            printf '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %s, "dur": 4000}' $((1000 * (base + 10 * i + 5)))
        done
        echo ']}'
    } >device.json
    both
done
cp us.json device.json
echo "--- other steps"
pair 20 '2026-11-21 08:03:46' 17 18 19 20 >host.json && both
echo "--- more steps"
pair 20 '2026-11-21 08:03:46' 3 4 5 6 7 >host.json && both
echo "--- ids of 0"
pair 20 '2026-11-21 08:03:46' 7 0 0 0 >host.json
sed -i 's/"Record function id": [0-9]*/"Record function id": 0/' device.json
both
sutra info device.json | grep record-function
sutra link host.json device.json --match ids --no-sync -o out.json --stats - -q 2>/dev/null | grep -e n_host_rf_zero -e n_host_linked | tr -d ,

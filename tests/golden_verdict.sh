# golden_verdict.sh - checks the verdict of `sutra analyze --format json`: the schema of docs/findings.md, sums, and the
# same bytes for any number of threads and for ranks that several processes analyze.
. tests/golden.sh
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
cd "$(dirname "$0")/.." || exit 70

# verdict NAME WORDS...: writes NAME.json of these traces, with one and with four threads.
verdict() {
    n_checks=$((n_checks + 1))
    name=$1
    shift
    "$SUTRA" analyze "$@" --format json -q -T 1 >"$work/$name.json" &&
        "$SUTRA" analyze "$@" --format json -q -T 4 >"$work/$name.4.json" &&
        cmp "$work/$name.json" "$work/$name.4.json" &&
        python3 tests/verdict_schema.py docs/findings.md "$work/$name.json" && return
    failed "$name"
}

"$SUTRA" gen -n 20k --ranks 4 --straggler-rank 2 --host "$work/h" --device "$work/d" -q || exit 70
"$SUTRA" gen -n 6k --seed 3 --python-functions --collectives --host "$work/one.host" --device "$work/one.trace" -q || exit 70
verdict job "$work/d"
verdict one "$work/one.trace"
verdict rank "$work/d/device.1.json"
verdict synth tests/data/analyze/synth/trace.json.gz
verdict mlp tests/data/link/torch_mlp_nosync/device.json.gz

# Kinds without shares, and a path that the shell must quote.
launch='{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"dur":5,"args":{"correlation":'
{
    printf '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":900}'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf ',\n%s%d},"ts":%d}' "$launch" "$i" $((i * 50)); done
    printf ']}'
} >"$work/it's no work.json"
verdict guard "$work/it's no work.json"
grep -q '"kind": "no_gpu_activity"' "$work/guard.json" && grep -q "it'...'s no work.json'" "$work/guard.json" ||
    failed "guard: kind or quoted path"

# Two processes, each with some of the ranks.
n_checks=$((n_checks + 1))
"$SUTRA" analyze "$work/d" -o "$work/out" --shard 1/2 -q && "$SUTRA" analyze "$work/d" -o "$work/out" --shard 2/2 -q &&
    "$SUTRA" analyze "$work/d" -o "$work/out" --combine --format json -q >"$work/combined.json" &&
    cmp "$work/job.json" "$work/combined.json" || failed "shards"
finish

# The last line of the summary: complete, partial or empty result with its cause; -v, --strict and --quiet.
. "$TOOLS/common.sh"
need sed
# result NAME [OPTION...]: links host.json and device.json, and prints the last line and the exit code.
result() {
    echo "--- $1"
    shift
    sutra link host.json device.json -o out.json "$@" 2>err
    code=$?
    tail -n 1 err
    [ $code = 0 ] || echo "exit $code"
}
# recorded CASE: its pair as host.json and device.json.
recorded() {
    for file in host device; do gzip -dc "$DATA/link/$1/$file.json.gz" >$file.json; done
}
traces
result complete
sed -i 's/"kernel"/"python_function"/; s/"gpu_mem[a-z]*"/"python_function"/' device.json
result "a device trace of CPU operators"
recorded torch_threads_int
result "CPU operators of a thread that the profiler does not record"
result "partly is no error with --strict" --strict
recorded h200_graphs
result "GPU activities without a launch"
recorded h200_convolutions
sed -i '/"cuda_runtime"/s/"tid": 481/"tid": 999/' device.json
result "GPU activities that a thread without CPU operators launches"
recorded h200_convolutions
sed -i '/"name": "aten::\(cudnn\|_foreach\)/,/rf_id/s/"rf_id", "type": "uint64", "value": /&9999/' host.json
result "GPU activities of CPU operators that the host trace lacks"

strange_traces
echo "--- nothing: two lines"
sutra link host.json device.json --no-sync -o out.json
echo "exit $?"
echo "--- nothing: all counts"
sutra link host.json device.json --no-sync -o out.json -v 2>err
grep -c '^ ' err
tail -n 1 err
result "nothing: --strict" --strict
result "nothing: only the warning" -q --no-sync

echo "--- a job: the rank with the smallest share, then all ranks"
for rank in 1 2; do
    case=$DATA/link/torch_threads_int
    [ $rank = 2 ] || case=$DATA/link/torch_mlp_nosync
    printf '%s\t%s\t%s\n' $rank "$case/host.json.gz" "$case/device.json.gz" >>table
done
sutra link --ranks table -o some 2>&1 | tail -n 2
printf '0\thost.json\tdevice.json\n' >>table
sutra link --ranks table -o job 2>&1 | tail -n 2
echo "exit $?"
sutra link --ranks table -o job -q 2>&1
printf '0\thost.json\tdevice.json\n' >table
sutra link --ranks table -o none 2>&1 | tail -n 2

echo "--- by names"
older_traces
sutra link-legacy host.json device.json --exact-match -o out.json 2>&1 | tail -n 1
grep -v lost device.json | sed 's/{"ph": "X", "cat": "kernel", "name": "gemm"\(.*\)},$/{"ph": "X", "cat": "kernel", "name": "gemm"\1}/' >less.json
sutra link-legacy host.json less.json --exact-match -o out.json 2>&1 | tail -n 1
sed -i '/"External id": 2, /d; /aten::relu/d' less.json
sutra link-legacy host.json less.json --exact-match -o out.json
echo "exit $?"

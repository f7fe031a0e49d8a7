# Text cells of CSV files: a spreadsheet runs no formula from tables of sutra, tables of other tools keep their bytes,
# and file names that are not UTF-8 are escaped.
. "$TOOLS/common.sh"
# trace OPERATOR KERNEL TID [RANK]: an operator that launches a kernel in a step of the profiler.
trace() {
    cat <<END
{"distributedInfo": {"backend": "nccl", "rank": ${4:-0}}, "deviceProperties": [{"id": 0, "name": "=device"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": $3, "ts": 0, "dur": 200, "args": {"External id": 9}},
{"ph": "X", "cat": "cpu_op", "name": "$1", "pid": 1, "tid": $3, "ts": 10, "dur": 20, "args": {"External id": 1, "Input Dims": [[8]], "Input type": ["float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": $3, "ts": 12, "dur": 3, "args": {"External id": 1, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "$2", "pid": 0, "tid": 7, "ts": 30, "dur": 40, "args": {"stream": 7, "device": 0, "External id": 1, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "-", "pid": 0, "tid": -7, "ts": 90, "dur": 10, "args": {"stream": -7, "device": 0}}
]}
END
}
trace '=1+cmd|\u0027 /C calc\u0027!A0' '+\"quoted\",kernel' '"=thread,\"1\""' >formula.json
# cells FILE: cells that begin as a formula does, with or without the prefix, and are no numbers.
cells() {
    grep -oE "(^|,)\"?'?[-=+@]([^0-9.,][^,]*)?" "$1" | sed 's/^,//' | LC_ALL=C sort -u
}
echo "tables of sutra:"
sutra analyze operators formula.json -o operators -q
cells operators/operators.csv
sutra analyze kernels formula.json -o kernels -q
cells kernels/kernels.csv
sutra analyze kernels formula.json -o json --table-format json -q
grep -oh '"name": "[-=+][^,]*' json/kernels.json
sutra diff formula.json formula.json -o diff -q
cells diff/diff_operators.csv
cells diff/diff_paths.csv
sutra correlate formula.json --kind all --format csv -q 2>/dev/null
for start in @ '\t' '\r' -; do
    trace "${start}sum" - 1 >start.json
    sutra analyze operators start.json -o start -q
    grep -aoh ".*sum" start/operators.csv | tr '\t\r' 'TR'
    rm -r start
done
cat kernels/*.csv operators/*.csv | grep "'-7" || echo "no prefix before -7"
echo "tables of other tools:"
sutra analyze hta formula.json -o hta -q
cells hta/gpu_kernel_breakdown.kernels.csv
sutra diff formula.json formula.json -o compare -q --compat hta
cells compare/hta_compare_all.csv
sutra analyze operators formula.json -o tracelens -q --compat tracelens
cells tracelens/kernels.csv
trace =op - 1 1 >rank1.json
sutra analyze operators formula.json rank1.json -o ranks -q --compat tracelens
cells ranks/ops_summary.rank0.csv
for part in 1/2 2/2; do
    sutra analyze operators formula.json rank1.json -o shared -q --compat tracelens --shard $part
done
sutra analyze operators formula.json rank1.json -o shared -q --compat tracelens --combine
for rank in 0 1; do cmp ranks/ops_summary.rank$rank.csv shared/ops_summary.rank$rank.csv; done
sutra analyze dlrm formula.json -o dlrm -q --iters 1 --model =model 2>/dev/null
cut -d, -f1-4 dlrm/overheads_by_shape_raw.csv

echo "file names:"
mkdir job
trace '\ud800 lone' - 1 0 >"job/-a$(printf '\377')b.json"
trace op - 1 1 >"job/=b.json"
cd job
sutra analyze hta -o ../names -q -- *
sutra analyze dlrm -o ../models -q --iters 1 -- * 2>/dev/null
sutra analyze operators -o ../lone -q -- *
cd ..
cut -d, -f1,2 models/ranks.csv
grep -aho '[^,]*json[^,]*' names/*.csv | sort -u
grep -aho '[^,]*lone' lone/operators.csv | sort -u
for file in names/*.csv models/*.csv lone/*.csv; do
    grep -axv '.*' "$file" | sed "s,.*,$file: a line that is not UTF-8,"
done

# Comparison of two traces: the page, the tables, the gate, and errors.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra diff trace.json.gz trace.json.gz

# The second one launches another kernel for one of two operators, which takes longer, and has a third.
trace() {
    echo '{"traceEvents": ['
    for step in 1 2 3; do
        at=$((step * $1))
        event() {
            printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d, "ts": %d, "dur": %d, "args": {%s}},\n' "$@"
        }
        event user_annotation "ProfilerStep#$step" 1 1 $at $(($1 - 9 + step)) ''
        event cpu_op aten::addmm 1 1 $((at + 10)) 50 '"Input Dims": [[8, 8]], "Input type": ["float"]'
        event cuda_runtime cudaLaunchKernel 1 1 $((at + 20)) 5 "\"correlation\": $((at + 1))"
        event kernel "void $2<float>(float*)" 0 7 $((at + 40)) $3 "\"correlation\": $((at + 1)), \"stream\": 7"
        event cpu_op aten::add 1 1 $((at + 70)) 50 ''
        event cuda_runtime cudaLaunchKernel 1 1 $((at + 80)) 5 "\"correlation\": $((at + 2))"
        event kernel ew 0 7 $((at + 400)) 30 "\"correlation\": $((at + 2)), \"stream\": 7"
        [ "$4" ] && event cpu_op "$4" 1 1 $((at + 150)) 20 ''
    done
    echo '{"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 9000}]}'
}
trace 500 gemm_128 200 '' >a.json
trace 600 gemm_64 290 aten::view >b.json
quietly sutra diff a.json b.json -o results
ls results
cat results/diff_steps.csv results/diff_paths.csv
quietly sutra diff b.json a.json -q -o back --table-format json
cat back/diff_kernels.json
quietly sutra diff a.json b.json -q --fail-above 5%
quietly sutra diff a.json b.json -q --fail-above 50
quietly sutra diff b.json a.json -q --fail-above 0%
quietly sutra diff a.json b.json --step 1 --step-b 2 --name gemm | sed -n '/^call paths/,$p'
quietly sutra diff a.json b.json --map 'gemm_128<float>=gemm_64<float>' | sed -n '/^kernels/,$p'

# What is left out of a side is told with its name, by as many threads as there are.
sed '2s/"dur": [0-9]*/"dur": -1/' b.json >odd.json
for threads in 1 2; do
    quietly sutra diff a.json odd.json -q --threads $threads
done

# Jobs: folders of ranks.
mkdir jobs jobs/a jobs/b
cp a.json jobs/a/rank0.json
cp a.json jobs/a/rank1.json
cp b.json jobs/b/rank0.json
quietly sutra diff jobs/a jobs/b | head -n 5
quietly sutra diff jobs/a jobs/b --rank 1 -q

# Of a job, how long ranks waited in a collective, which the last one to come does not, and how fast data moved.
rank() {
    printf '{"distributedInfo": {"rank": %d, "world_size": 2}, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {
        "stream": 7, "correlation": 1, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000000,
        "Out msg nelems": 1000000, "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 1}}]}' "$@"
}
mkdir met met/a met/b
rank 0 100 900 >met/a/0.json
rank 1 900 100 >met/a/1.json
rank 0 100 300 >met/b/0.json
rank 1 200 200 >met/b/1.json
quietly sutra diff met/a met/b | sed -n '/^collectives/,/^$/p'
quietly sutra diff met/a met/b -q -o waited
cut -d, -f1-4,7-9,15- waited/diff_collectives.csv
quietly sutra diff met/b met/b -q -o even
cut -d, -f9,16- even/diff_collectives.csv

quietly sutra diff a.json b.json --compat hta -o compat -q
ls compat
cat compat/hta_compare_gpu_short.csv compat/hta_ops_diff_cpu.json
quietly sutra diff trace.json.gz b.json --compat hta -o none -q --step 99
quietly sutra diff a.json b.json --compat hta
quietly sutra diff a.json b.json --compat hta -o x --name gemm
quietly sutra diff a.json b.json --fail-above much
quietly sutra diff a.json b.json --map x
quietly sutra diff a.json
quietly sutra diff a.json none.json

# Findings name the lines of the user's code: below Where, in JSON, Markdown and the picture of the page.
. "$TOOLS/common.sh"
event() { # CATEGORY NAME TID START DURATION ARGS
    printf ',\n{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": %s, "ts": %s, "dur": %s, "args": {%s}}' "$@"
}
code() { # WORDS...: the code of the first finding
    sutra analyze "$@" --format json --quiet | grep -o '"code".*' | head -n 8 | sed 's/^ *//'
}

# 20 kernels that wait for a Python function: after each, the CPU launches the next one 200 us later.
{
    printf '{"traceEvents": [{}'
    i=0
    while [ $i -lt 20 ]; do
        t=$((i * 300))
        event python_function 'train.py(30): step' 1 $t 298 ''
        event python_function 'torch/nn/modules/module.py(1791): _call_impl' 1 $((t + 1)) 296 '"CallFrom": "train.py:33"'
        event python_function 'model/router.py(12): route' 1 $((t + 2)) 250 '"CallFrom": "torch/nn/modules/module.py:1798"'
        event python_function 'math.py(3): cost' 1 $((t + 3)) 240 '"CallFrom": "model/router.py:15"'
        event cpu_op aten::mm 1 $((t + 270)) 20 ''
        event cuda_runtime cudaLaunchKernel 1 $((t + 280)) 5 "\"correlation\": $((i + 1))"
        event kernel gemm 7 $((t + 290)) 30 "\"stream\": 7, \"correlation\": $((i + 1))"
        i=$((i + 1))
    done
    echo ']}'
} >trace.json
quietly sutra analyze trace.json | sed -n '/^1\./,/^ *Do/p'
code trace.json
quietly sutra analyze trace.json --format markdown --quiet | grep Code
quietly sutra analyze trace.json -o page --quiet
grep -c 'model/router.py:15 route</text>' page/report.html
grep ',code,' page/evidence.csv

# Ranks in two processes have the same bytes.
mkdir ranks
cp trace.json ranks/rank0.json
sed 's/route/gate/' trace.json >ranks/rank1.json
sutra analyze ranks --format json -q >one.json
for k in 1 2; do sutra analyze ranks -o shards -q --shard $k/2; done
sutra analyze ranks -o shards --combine --format json -q >two.json
cmp one.json two.json && echo equal

# Kernels of a graph: the operators of the capture trace.
{
    printf '{"traceEvents": [{}'
    event python_function 'serve.py(9): loop' 1 1000 3000 ''
    for i in 1 2 3; do
        event cuda_runtime cudaGraphLaunch 1 ${i}000 50 "\"correlation\": $i"
        event kernel gemm_k 7 ${i}052 800 "\"stream\": 7, \"correlation\": $i"
        event kernel silu_k 7 ${i}860 140 "\"stream\": 7, \"correlation\": $i"
    done
    echo ']}'
} >graph.json
{
    printf '{"traceEvents": [{}'
    event cuda_runtime cudaStreamBeginCapture 1 10 5 ''
    event python_function 'model/mlp.py(40): forward' 1 18 60 ''
    event cpu_op aten::mm 1 20 20 ''
    event cuda_runtime cudaLaunchKernel 1 25 5 '"kernel": "gemm_k"'
    event cpu_op aten::silu 1 50 20 ''
    event cuda_runtime cudaLaunchKernel 1 55 5 '"kernel": "silu_k"'
    event cuda_runtime cudaStreamEndCapture 1 90 5 ''
    echo ']}'
} >capture.json
code graph.json
code graph.json --capture capture.json

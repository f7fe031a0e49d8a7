# Kernels of CUDA graphs belong to operators, by a capture trace or by kernels outside of graphs; Triton kernels have rates.
. "$TOOLS/common.sh"
event() { # CATEGORY NAME TID START DURATION ARGS
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": %s, "ts": %s, "dur": %s, "args": {%s}}' "$@"
}
{
    echo '{"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": ['
    event cpu_op aten::silu 1 10 20 '' && echo ,
    event cuda_runtime cudaLaunchKernel 1 15 5 '"correlation": 1' && echo ,
    event kernel silu_k 7 100 50 '"stream": 7, "correlation": 1' && echo ,
    event cpu_op triton_poi_fused_add_relu_0 1 40 20 '"Input Dims": [[1000, 1000], [1000, 1000], []],
 "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Concrete Inputs": ["", "", "1000000"], "kernel_hash": "c7"' &&
        echo ,
    event cuda_driver cuLaunchKernel 1 45 5 '"correlation": 2' && echo ,
    event kernel triton_poi_fused_add_relu_0 7 150 50 '"stream": 7, "correlation": 2' && echo ,
    for i in 3 4; do
        event cpu_op run_graph 1 ${i}000 100 '' && echo ,
        event cuda_runtime cudaGraphLaunch 1 ${i}010 50 "\"correlation\": $i" && echo ,
        event kernel gemm_k 7 ${i}100 300 "\"stream\": 7, \"correlation\": $i" && echo ,
        event kernel silu_k 7 ${i}500 100 "\"stream\": 7, \"correlation\": $i"
        [ $i = 4 ] || echo ,
    done
    echo ']}'
} >trace.json
capture() { # NAME-ARGS of both calls
    echo '{"traceEvents": ['
    event cuda_runtime cudaStreamBeginCapture 1 10 5 '' && echo ,
    event python_function 'nn.Module: MLP_0' 1 18 60 '' && echo ,
    event cpu_op aten::mm 1 20 20 '"Input Dims": [[64, 1024], [1024, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]' &&
        echo ,
    event cuda_runtime cudaLaunchKernel 1 25 5 "$1" && echo ,
    event cpu_op aten::silu 1 50 20 '' && echo ,
    event cuda_runtime cudaLaunchKernel 1 55 5 "$2" && echo ,
    event cuda_runtime cudaStreamEndCapture 1 90 5 ''
    echo ']}'
}
capture '' '' >counted.json
capture '"kernel": "gemm_k"' '"kernel": "silu_k"' >named.json
capture '"kernel": "other"' '"kernel": "silu_k"' >other.json

quietly sutra analyze operators trace.json
quietly sutra analyze operators trace.json -o named -q --capture named.json
cat named/graph_kernels.csv named/graph_operators.csv named/triton.csv
cut -d, -f 2-6,8,9 named/operators.csv
cut -d, -f 2-5,8,9 named/modules.csv
cut -d, -f 2-5 named/call_paths.csv
sed 's/"[^"]*"/-/g' named/rates.csv | cut -d, -f 2,8,13-17,19,21
quietly sutra analyze operators trace.json -o counted -q --capture counted.json
cat counted/graph_kernels.csv
quietly sutra analyze operators trace.json -o several -q --capture other.json --capture counted.json
cat several/graph_kernels.csv
quietly sutra analyze operators trace.json -o none -q --capture other.json
cat none/graph_kernels.csv none/graph_operators.csv
quietly sutra analyze kernels trace.json -o kernels -q --capture named.json
cut -d, -f 2,4,5,15 kernels/kernels.csv
cat kernels/graph_kernels.csv
quietly sutra analyze trace.json --details --capture counted.json | grep -A 9 operators
quietly sutra analyze trace.json --details --capture other.json | grep graph
quietly sutra analyze trace.json --format json --capture named.json | grep -A 2 '"graphs"'
quietly sutra analyze trace.json -o page -q --capture counted.json
grep -o '[0-9]* kernels of graphs[^<]*' page/report.html

# A finding that names an operator of medium confidence adds "probably".
{
    echo '{"traceEvents": ['
    event cuda_runtime cudaGraphLaunch 1 10 50 '"correlation": 1' && echo ,
    event kernel gemm_k 7 100 300 '"stream": 7, "correlation": 1' && echo ,
    event gpu_memcpy 'Memcpy DtoD (Device -> Device)' 7 400 900 '"stream": 7, "correlation": 1'
    echo ']}'
} >copies.json
{
    echo '{"traceEvents": ['
    event cuda_runtime cudaStreamBeginCapture 1 10 5 '' && echo ,
    event cpu_op aten::mm 1 20 20 '' && echo ,
    event cuda_runtime cudaLaunchKernel 1 25 5 '' && echo ,
    event cpu_op aten::clone 1 50 20 '' && echo ,
    event cuda_runtime cudaMemcpyAsync 1 55 5 '' && echo ,
    event cuda_runtime cudaStreamEndCapture 1 90 5 ''
    echo ']}'
} >copies_capture.json
quietly sutra analyze copies.json --format json --capture copies_capture.json | grep -o '(Device -> Device)[^.]* in [^.]*'
quietly sutra analyze copies.json --format json | grep -o '(Device -> Device)[^.]* in [^.]*'

# The tables of TraceLens do not use capture traces; an unreadable one is an error.
quietly sutra analyze operators trace.json -o compat -q --compat tracelens --capture missing.json
cut -d, -f 1,2 compat/ops_summary.csv
quietly sutra analyze operators trace.json --capture missing.json
echo '{"traceEvents": [' >broken.json
quietly sutra analyze trace.json --capture broken.json

# A directory of capture traces.
mkdir captures
cp other.json named.json captures
quietly sutra analyze operators trace.json -o directory -q --capture captures
cmp directory/graph_kernels.csv named/graph_kernels.csv && echo equal
mkdir empty
quietly sutra analyze trace.json --capture empty

# Ranks in two processes: the process that combines them reads no capture trace.
quietly sutra analyze operators trace.json -o shard -q --capture named.json --shard 1/1
mv named.json gone.json
quietly sutra analyze operators trace.json -o shard -q --capture named.json --combine
cat shard/graph_kernels.csv
quietly sutra analyze operators trace.json -o shard2 -q --shard 1/1
quietly sutra analyze operators trace.json -o shard2 -q --capture named.json --combine

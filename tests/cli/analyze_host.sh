# `sutra analyze` of traces whose time is the host's: a model on the CPU, launching threads that stall, first calls.
. "$TOOLS/common.sh"
echo "-- a model on the CPU: screen, JSON and Markdown"
awk 'BEGIN {
    print "{\"traceEvents\": [{}"
    for (i = 0; i < 3; i++) {
        t = 1000 * i
        shape = i < 2 ? "[8, 3, 64, 64]" : "[1, 3, 8, 8]"
        printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::conv2d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":620}\n", t
        printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mkldnn_convolution\",\"pid\":1,\"tid\":1,\"ts\":%d,", t + 10
        printf "\"dur\":600,\"args\":{\"Input Dims\":[%s],\"Input type\":[\"float\"]}}\n", shape
        printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::relu\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":100}\n", i + 1, t + 700
    }
    print "]}"
}' >model.json
sutra analyze model.json 2>/dev/null
sutra analyze model.json --format json -q | grep -A 4 '"cpu_operators"'
sutra analyze model.json --format markdown -q | grep -n Time
sutra analyze model.json -o model -q && grep -c 'aten::mkldnn_convolution' model/report.html

# rank NUMBER STALL_US: four steps, in each of which a call of aten::view takes STALL_US instead of 2 us.
rank() {
    awk -v rank="$1" -v stall="$2" 'BEGIN {
        printf "{\"distributedInfo\": {\"rank\": %d, \"world_size\": 2}, \"traceEvents\": [{}", rank
        t = free = 0
        for (step = 0; step < 4; step++) {
            begin = t
            for (i = 0; i < 20; i++) {
                long = i == 10 ? stall : 2
                printf ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::view\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d}", t, long
                t += long
                n++
                printf ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":20}", t
                printf ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,", t + 10
                printf "\"args\":{\"correlation\":%d}}", n
                t += 20
                free = free > t + 3 ? free : t + 3
                printf ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":50,", free
                printf "\"args\":{\"stream\":7,\"correlation\":%d}}", n
                free += 50
            }
            t += step * 100
            printf ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d}", step, begin, t - begin
        }
        print "]}"
    }'
}
echo "-- a rank whose launching thread stalls"
mkdir job
rank 0 2 >job/rank0.json
rank 1 6000 >job/rank1.json
sutra analyze job/rank1.json 2>/dev/null | head -n 24
echo "-- a job: the ranks that stall, and how many threads run at a time"
sutra analyze job 2>/dev/null | grep -A 4 STALLS
rank 0 6000 >job/rank0.json
sutra analyze job 2>/dev/null | grep -A 5 STALLS

echo "-- the first call of a compiled function"
awk 'BEGIN {
    print "{\"traceEvents\": [{}"
    for (i = 0; i < 12; i++) {
        t = 1000 * i + (i > 5 ? 2000000 : 0)
        printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,", t
        printf "\"args\":{\"correlation\":%d}}\n", i
        printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":900,", (i > 5 ? "triton_poi_fused_0" : "k"), t + 8
        printf "\"args\":{\"stream\":7,\"correlation\":%d}}\n", i
    }
    print "]}"
}' >compiled.json
sutra analyze compiled.json 2>/dev/null | head -n 18

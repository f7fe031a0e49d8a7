# Chakra files without recorded matches, as generators of workloads write them: messages, sizes, ASTRA-sim's configuration.
. "$TOOLS/common.sh"
# node ID NAME TYPE US DEPENDENCIES [ATTRIBUTE...]: a line; attributes are NAME=NUMBER.
node() {
    printf '{"id": "%s", "name": "%s", "type": "%s_NODE", "durationMicros": "%s", "dataDeps": [%s], "attr": [' "$1" "$2" "$3" "$4" "$5"
    shift 5
    for attribute; do
        printf '{"name": "%s", "int64Val": "%s"}, ' "${attribute%=*}" "${attribute#*=}"
    done
    echo '{"name": "is_cpu_op", "boolVal": false}]}'
}
# file PREFIX.RANK: the .et file of the lines of standard input.
file() {
    { echo '{"attr": [{"name": "schema", "stringVal": "symbolic_tensor_network"}]}' && cat; } | encode_et >"$1.et"
}
# above ARGUMENT...: the ranks, and the warnings.
above() {
    echo "\$ sutra simulate $*"
    sutra simulate "$@" >out 2>err
    code=$?
    sed '/^  shares/,$d' out
    cat err
    echo "exit $code"
}
mkdir pipeline
# Two stages and two micro-batches: both ranks list their receives first, with the lowest ids.
kernel() { node "$1" "$2" COMP 0 "$3" num_ops=4000000 tensor_size=1000; }
{
    node 1 grad_0 COMM_RECV 0 '' comm_src=1 comm_tag=2 comm_size=2000
    node 2 grad_1 COMM_RECV 0 '' comm_src=1 comm_tag=3 comm_size=2000
    kernel 3 forward_0 '' && kernel 4 forward_1 ''
    node 5 out_0 COMM_SEND 0 3 comm_dst=1 comm_tag=0 comm_size=2000
    node 6 out_1 COMM_SEND 0 4 comm_dst=1 comm_tag=1 comm_size=2000
    kernel 7 backward_0 1 && kernel 8 backward_1 2
} | file pipeline/w.0
{
    node 1 in_0 COMM_RECV 0 '' comm_src=0 comm_tag=0 comm_size=2000
    node 2 in_1 COMM_RECV 0 '' comm_src=0 comm_tag=1 comm_size=2000
    kernel 3 forward_0 1 && kernel 4 forward_1 2
    node 5 grad_0 COMM_SEND 0 3 comm_dst=0 comm_tag=2 comm_size=2000
    node 6 grad_1 COMM_SEND 0 4 comm_dst=0 comm_tag=3 comm_size=2000
} | file pipeline/w.1
echo '{"mem_bw_gbps": 1000, "max_achievable_tflops": {"matrix_bf16": 1, "vector_fp32": 0.5}}' >peaks.json
above pipeline
above pipeline --network alpha=1us,beta=1GB/s
above pipeline --network alpha=1us,beta=1GB/s --peaks peaks.json
above pipeline --network alpha=1us,beta=1GB/s --peaks peaks.json --bandwidth x2
above pipeline --network beta=1GB/s
above pipeline --peaks none.json
above pipeline/w.0.et --network alpha=1us,beta=1GB/s --peaks peaks.json
sutra simulate pipeline --network alpha=1us,beta=1GB/s --peaks peaks.json --quiet --format json | sed -n '/"waits"/,/"network"/p'
echo "without one send:"
mkdir unsent
cp pipeline/w.0.et unsent
sutra jsonize pipeline/w.1.et --lines | sed '1d; /grad_1/d' | file unsent/w.1
above unsent --network alpha=1us,beta=1GB/s --peaks peaks.json
echo "an all-gather of messages, each of which follows the receive before:"
mkdir ring
for rank in 0 1 2; do
    from=$(((rank + 2) % 3)) to=$(((rank + 1) % 3))
    {
        node 1 own COMM_SEND 0 '' comm_dst=$to comm_tag=0 comm_size=1000
        node 2 first COMM_RECV 0 '' comm_src=$from comm_tag=0 comm_size=1000
        node 3 next COMM_SEND 0 2 comm_dst=$to comm_tag=1 comm_size=1000
        node 4 last COMM_RECV 0 2 comm_src=$from comm_tag=1 comm_size=1000
    } | file ring/w.$rank
done
above ring
above ring --network alpha=1us,beta=1GB/s
echo "collectives with durations, memory, dimensions:"
mkdir loads
for rank in 0 1; do
    {
        node 1 load MEM_LOAD 20 '' tensor_size=100
        node 2 all-gather COMM_COLL 10 '' comm_type=2 comm_size=4000 |
            sed 's/{"name": "is_cpu_op"/{"name": "involved_dim", "boolList": {"values": [true, false]}}, &/'
        node 3 gemm COMP 25 ''
    } | file loads/w.$rank
done
above loads
above loads --bandwidth x2
above loads --network alpha=1us,beta=1GB/s
echo "ASTRA-sim's configuration:"
cat >loads/system.json <<'END'
{"roofline-enabled": 1, "all-reduce-implementation-custom": ["ring"], "track-local-mem": true}
END
printf '# two\n\n  topology: [ Ring ]\n' >loads/network.yml
echo '{"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 50}' >loads/memory.json
# configured OPTION...: the warnings about the configuration.
configured() {
    echo "\$ $*"
    sutra simulate loads "$@" 2>&1 >/dev/null | grep -e '\.json' -e yml || true
}
configured
configured --peaks peaks.json
configured --quiet
sutra simulate loads/w.*.et 2>&1 >/dev/null | grep -c yml
sed -i 's/{/{"replay-only": 1, /' loads/system.json
configured
for text in '' '{' '[1]' '{"roofline-enabled": 1, "x"' '{"roofline-enabled": 0}' '{"roofline-enabled": "1"}' '{"a": [[[]], {}], "roofline-enabled": 1.5}'; do
    printf '%s' "$text" >loads/system.json
    echo "$text:"
    configured
done
rm loads/*.json loads/network.yml
mkdir loads/system.json
mkfifo loads/network.yml
configured

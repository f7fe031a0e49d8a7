# common.sh - functions of the scripts; each begins with: . "$TOOLS/common.sh"

# try COMMAND...: the command line, what it prints on both streams, and its exit code.
try() {
    echo "\$ $*"
    "$@" 2>&1
    echo "exit $?"
}

# skip WHY: ends the script as one that cannot run here.
skip() {
    echo "$*" >&2
    exit 77
}

# need PROGRAM: skips the script where the program is missing.
need() {
    command -v "$1" >/dev/null || skip "needs the program $1"
}

# options_of COMMAND: the long options of a command, which its manual page describes.
options_of() {
    sutra man $1 | sed -n '/^\.SH OPTIONS/,/^\.SH EXAMPLES/s/^\(\\fB\\-[a-zA-Z]\\fR, \)*\\fB\(\\-\\-[^ ]*\).*/\2/p' |
        sed 's/\\f.*//; s/\\//g'
}

# traces: a small pair recorded with PyTorch as host.json and device.json, here.
traces() {
    case=$DATA/link/torch_mlp_nosync
    [ -e "$case/host.json.gz" ] || skip "needs $case"
    gzip -dc "$case/host.json.gz" >host.json
    gzip -dc "$case/device.json.gz" >device.json
}

# strange_traces: a pair that has nothing in common.
strange_traces() {
    cat >host.json <<'END'
{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
{"id": 1, "name": "root", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
 "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 0}]},
{"id": 2, "name": "aten::add", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
 "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 7}]}
]}
END
    cat >device.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
 "args": {"External id": 3, "Record function id": 8}}
]}
END
}

# older_traces: a pair of schema 1.0.1 without ids in common as host.json and device.json: two operators, of which the
# first launches a kernel; another kernel is launched when none of them runs.
older_traces() {
    node() {
        printf '{"name": "%s", "id": %s, "parent": %s, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0,\n' "$1" "$2" "$3"
        printf ' "op_schema": "", "inputs": [%s], "input_shapes": [[]], "input_types": ["Int"],\n' "$2"
        printf ' "outputs": [], "output_shapes": [], "output_types": []}%s\n' "$4"
    }
    {
        echo '{"schema": "1.0.1", "pid": 1, "nodes": ['
        node '[pytorch|profiler|execution_graph|process]' 1 1 ,
        node '[pytorch|profiler|execution_graph|thread]' 2 1 ,
        node aten::mm 3 2 ,
        node aten::relu 4 2 ''
        echo '], "finish_ts": 9}'
    } >host.json
    cat >device.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 20,
 "args": {"External id": 1, "Ev Idx": 0}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3,
 "args": {"External id": 8, "correlation": 8}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 90, "dur": 3,
 "args": {"External id": 9, "correlation": 9}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 40, "dur": 5,
 "args": {"External id": 2, "Ev Idx": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"External id": 8, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 95, "dur": 4, "args": {"External id": 9, "correlation": 9}}
]}
END
}

# analysis_trace: a trace whose analyses are known as trace.json.gz, here.
analysis_trace() {
    case=$DATA/analyze/synth
    [ -e "$case/trace.json.gz" ] || skip "needs $case"
    cp "$case/trace.json.gz" trace.json.gz
}

# quietly COMMAND...: what it prints, without the line on seconds and memory.
quietly() {
    echo "\$ $*"
    "$@" 2>err
    echo "exit $?"
    sed 's/^[0-9.]* s, .* peak memory$/SECONDS and MEMORY/' err
}

# et_file: a Chakra file of an operator with an all-reduce of 1,024 bytes below it, on standard output.
et_file() {
    printf '\037\022\035\012\006schema\352\001\0221.1.1-chakra.0.0.4'
    printf '\044\010\001\022\010aten::mm\030\004\070\015\102\000\112\000R\016\012\011is_cpu_op\330\001\001'
    printf '\205\001\010\002\022\033ncclDevKernel_AllReduce_Sum\030\007\042\001\001\052\001\001\070\011'
    printf 'R\016\012\011is_cpu_op\330\001\000R\012\012\006streamH\007R\015\012\011comm_typeH\000R\016\012\011comm_sizeH\200\010'
    printf 'R\015\012\007pg_name\352\001\0010R\020\012\005scale\031\000\000\000\000\000\000\370\077'
}

# encode_et: the Chakra file of JSON lines, from standard input to standard output.
encode_et() { python3 "$TOOLS/../et_text.py"; }

# trace_of PATH RANK PID SECOND STEP_US: writes a device trace of two steps with a data loader and a kernel. RANK "-" is
# not recorded; SECOND counts from 2023-11-14 22:13:20.
trace_of() {
    mkdir -p "$(dirname "$1")"
    awk -v rank="$2" -v pid="$3" -v second="$4" -v step="$5" 'BEGIN {
        printf "{\"schemaVersion\": 1, \"baseTimeNanoseconds\": %d000000000", 1700000000 + second
        if (rank != "-")
            printf ", \"distributedInfo\": {\"rank\": %d, \"world_size\": 2}", rank
        printf ", \"traceEvents\": [\n"
        x = "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.1f, \"dur\": %.1f, \"cat\": \"%s\", \"name\": \"%s\"%s}%s\n"
        for (i = 0; i < 2; i++) {
            at = i * step
            printf x, pid, 1, at, step - 1, "user_annotation", "ProfilerStep#" (i + 1), "", ","
            printf x, pid, 1, at + 5, step - 900, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", "", ","
            printf x, pid, 1, at + step - 890, 20, "cpu_op", "aten::mm", ", \"args\": {\"External id\": " i + 1 "}", ","
            printf x, pid, 1, at + step - 885, 5, "cuda_runtime", "cudaLaunchKernel", ", \"args\": {\"correlation\": " i + 1 ", \"External id\": " i + 1 "}", ","
            printf x, 0, 7, at + step - 870, 800, "kernel", "gemm_kernel", ", \"args\": {\"correlation\": " i + 1 ", \"External id\": " i + 1 ", \"stream\": 7, \"device\": 0}", i ? "" : ","
        }
        print "]}"
    }' >"$1"
}

# step_trace US...: a trace with a step of each duration, and a kernel of half of it.
step_trace() {
    echo '{"traceEvents": ['
    at=0 step=1
    event() {
        printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d, "ts": %d, "dur": %d, "args": {%s}},\n' "$@"
    }
    for us; do
        event user_annotation "ProfilerStep#$step" 1 1 $at $us ''
        event cpu_op aten::addmm 1 1 $((at + 10)) 50 ''
        event cuda_runtime cudaLaunchKernel 1 1 $((at + 20)) 5 "\"correlation\": $((step + 1))"
        event kernel "${kernel:-void gemm<float>(float*)}" 0 7 $((at + 40)) $((us / 2)) "\"correlation\": $((step + 1)), \"stream\": 7"
        at=$((at + us)) step=$((step + 1))
    done
    echo '{"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 1}]}'
}

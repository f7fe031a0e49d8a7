# common.sh - what the scripts share; each begins with: . "$TOOLS/common.sh"

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

# Whatever names and paths hold, a terminal only shows it: no control character comes out of a page, a text or an error.
. "$TOOLS/common.sh"
esc=$(printf '\033')
evil='x\u001b]0;title\u0007\u001b[2J\u009b2J\u007f\r'
cat >device.json <<END
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1 $evil", "pid": 1, "tid": 1, "ts": 0, "dur": 90, "args": {"External id": 9}},
{"ph": "X", "cat": "cpu_op", "name": "op $evil", "pid": 1, "tid": 1, "ts": 10, "dur": 20, "args": {"External id": 1, "Record function id": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3, "args": {"External id": 1, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "kernel $evil", "pid": 0, "tid": 7, "ts": 30, "dur": 40, "args": {"stream": 7, "device": 0, "External id": 1, "correlation": 8}},
{"ph": "X", "cat": "$evil", "name": "other", "pid": "$evil", "tid": "$evil", "ts": 40, "dur": 5, "args": {"stream": "$evil"}}
]}
END
cat >host.json <<END
{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
{"id": 1, "name": "root", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
 "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 0}]},
{"id": 2, "name": "op $evil", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
 "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 7}]}
]}
END
sed 's/1.1.1-chakra.0.0.4/9 \\u001b[2J/' host.json >schema.json
cp device.json "bad${esc}[2J.json"

# shows COMMAND...: runs it, in a file and on a terminal; says whether a control character came out.
shows() {
    "$@" >out 2>&1
    if command -v script >/dev/null; then
        script -qec "$(printf "'%s' " "$@") --quiet" /dev/null 2>&1 | tr -d '\r' | sed "s/$esc\[K//g" >terminal
    else
        cp out terminal
    fi
    for file in out terminal; do
        tr -d '\011\012\040-\176\302-\364\200-\277' <$file | grep -q . && echo "$*: control characters in the $file"
        grep -q "$esc" $file && echo "$*: an escape in the $file"
    done
    grep -o '\\x1b' out | sort -u
}
echo "pages and texts:"
shows sutra critical-path device.json
shows sutra tree device.json --format text
shows sutra analyze hta device.json
shows sutra info device.json
shows sutra link host.json device.json -o plus.json
echo "errors:"
shows sutra link schema.json device.json -o plus.json
shows sutra info "missing${esc}[2J.json"
shows sutra critical-path "bad${esc}[2J.json" --annotation "no${esc}[2J"
shows sutra "comm${esc}[2J"
echo "files of text:"
sutra critical-path device.json -o path.txt -q
sutra tree device.json --format text -o tree.txt -q
grep -l "$esc" *.txt
grep -c '\\x1b' *.txt

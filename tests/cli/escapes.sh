# Names and paths with control characters: a terminal shows them escaped in pages, texts and errors.
. "$TOOLS/common.sh"
esc=$(printf '\033')
# as JSON escapes them, and what may stand in JSON as it is
evil='x\u001b]0;title\u0007\u001b[2J\u009b2J\u007f\r'$(printf '\177\302\233')
# text in the other direction, and separators of lines and paragraphs, as UTF-8
turns=$(printf '\342\200\252 \342\200\256 \342\201\246 \342\201\251 \342\200\250 \342\200\251')
evil="$evil\\u202e\\u2067$turns"
cat >device.json <<END
{"schemaVersion": 1, "$evil": "$evil", "traceName": "$evil", "distributedInfo": {"backend": "$evil", "rank": 0}, "deviceProperties": [{"id": 0, "name": "$evil"}],
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1 $evil", "pid": 1, "tid": 1, "ts": 0, "dur": 90, "args": {"External id": 9}},
{"ph": "X", "cat": "cpu_op", "name": "op $evil", "pid": 1, "tid": "$evil", "ts": 10, "dur": 20, "args": {"External id": 1, "Input type": ["$evil"], "$evil": "$evil", "Record function id": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "$evil", "ts": 12, "dur": 3, "args": {"External id": 1, "correlation": 8}},
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

# clean FILE WORDS: says where the file has a control character.
clean() {
    tr -d '\011\012\040-\176\302-\364\200-\277' <"$1" | grep -q . && echo "$2: control characters in the $1"
    grep -q -e "$esc" -e "$(printf '\177')" -e "$(printf '\302\233')" "$1" && echo "$2: an escape in the $1"
    LC_ALL=C grep -q "$(printf '\342\200[\250-\256]\|\342\201[\246-\251]')" "$1" && echo "$2: a turn of direction or a separator in the $1"
}
# on_terminal COMMAND...: what it prints on one; the bar is no part of it.
on_terminal() {
    if command -v script >/dev/null; then
        script -qec "$(printf "'%s' " "$@")" /dev/null 2>&1 | tr -d '\r' | sed "s/$esc\[K//g" >terminal
    else
        "$@" >terminal 2>&1
    fi
    clean terminal "$*"
}
# shows COMMAND...: runs it, in a file and on a terminal; says whether a control character came out.
shows() {
    "$@" >out 2>&1
    clean out "$*"
    on_terminal "$@"
    grep -o '\\x1b' out | sort -u
}
echo "pages and texts:"
shows sutra critical-path device.json
shows sutra critical-path device.json --rules full
shows sutra tree device.json --format text
shows sutra analyze hta device.json
shows sutra info device.json
shows sutra link host.json device.json -o plus.json -v
sutra link host.json device.json -o job.et -q 2>/dev/null
shows sutra link-legacy host.json device.json -o legacy.json
shows sutra info host.json device.json
shows sutra analyze dlrm device.json
shows sutra simulate job.et
shows sutra convert plus.json -o converted.et -v
shows sutra info converted.et
shows sutra check job.et converted.et
echo "data on a terminal:"
for format in json chrome; do
    on_terminal sutra critical-path device.json --format $format
    on_terminal sutra critical-path device.json --format $format --rules full
    on_terminal sutra tree device.json --format $format
    on_terminal sutra correlate device.json --kind all --format $format
done
on_terminal sutra correlate device.json --kind all --format csv
on_terminal sutra simulate job.et --format json
on_terminal sutra jsonize job.et
on_terminal sutra draw job.et --around 1
on_terminal sutra draw job.et --around 1 --format svg
echo "errors:"
shows sutra link schema.json device.json -o plus.json
shows sutra info "missing${esc}[2J.json"
clean_name=$(printf 'missing\342\200\256.json')
sutra info "$clean_name" 2>err
clean err info
cat err
shows sutra critical-path "bad${esc}[2J.json" --annotation "no${esc}[2J"
shows sutra "comm${esc}[2J"
echo "files of text:"
sutra critical-path device.json -o path.txt -q 2>/dev/null
sutra tree device.json --format text -o tree.txt -q
sutra critical-path device.json --rules full -o full.txt -q
grep -l "$esc" *.txt
echo "pages and drawings:"
sutra analyze hta device.json -o hta -q 2>/dev/null
sutra analyze dlrm device.json -o dlrm -q 2>/dev/null
! command -v dot >/dev/null || sutra draw job.et --around 1 -o part.svg -q
sutra draw job.et --around 1 -o part.dot -q
for file in hta/hta.html hta/charts/* dlrm/dlrm.html dlrm/charts/* part.*; do
    clean "$file" drawn
done
grep -c '\\x1b' *.txt

# Traces of other tools, whose events have no category: an error of the commands that need operators or kernels.
. "$TOOLS/common.sh"
cat >other.json <<'END'
{"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "server"}},
{"ph": "X", "name": "handle", "pid": 1, "tid": 1, "ts": 10, "dur": 5},
{"ph": "B", "name": "query", "pid": 1, "tid": 1, "ts": 20}, {"ph": "E", "pid": 1, "tid": 1, "ts": 30},
{"ph": "s", "cat": "flow", "name": "to", "id": 1, "pid": 1, "tid": 1, "ts": 21},
{"ph": "X", "cat": 7, "name": "reply", "pid": 1, "tid": 1, "ts": 40, "dur": 5}
]}
END
traces
try sutra analyze other.json
for command in 'analyze operators IN' 'analyze kernels IN' 'analyze hta IN' 'analyze dlrm IN' 'analyze collectives IN' \
    'critical-path IN' 'critical-path IN --rules full' 'tree IN -o out.json' 'correlate IN -o out.json' \
    'diff IN device.json' 'diff device.json IN' 'merge IN -o out.json' 'link-legacy host.json IN -o out.json'; do
    text=$(sutra $(echo "$command" | sed "s/IN/other.json/g") 2>&1)
    case $?$text in
    65*'other.json: 3 events without a category: not a trace of PyTorch'*) ;;
    *) echo "sutra $command: $text" ;;
    esac
done
ls | grep '^out'
echo "-- one of several ranks"
sutra analyze operators device.json other.json -q 2>&1 | grep other.json
echo "-- commands that describe, copy or link a trace"
sutra info other.json 2>&1 | grep -v ' 0 '
sutra cut other.json --from-us 5 --to-us 15 -o - -q 2>/dev/null
sutra columns other.json -o other.arrow -q 2>&1
sutra link host.json other.json -o linked.json -q 2>&1 | grep nothing
sutra info host.json other.json 2>/dev/null | tail -n 4
echo "-- Kineto's own events have no category"
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >window.json
sutra analyze window.json 2>/dev/null | head -n 4

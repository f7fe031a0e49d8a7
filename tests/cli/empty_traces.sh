# Traces without events or nodes: an error with the remedy, no empty analysis.
. "$TOOLS/common.sh"
traces
echo '[]' >list.json
echo '{"traceEvents": []}' >events.json
echo '{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}' >names.json
echo '{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}' >nodes.json
try sutra analyze events.json
try sutra convert nodes.json -o out.et
for command in 'analyze IN -o out' 'analyze operators IN -o out' 'analyze kernels IN' 'analyze hta IN -o out' 'analyze dlrm IN -o out' \
    'analyze collectives IN' 'critical-path IN -o out.txt' 'critical-path IN --rules full' 'tree IN -o out.json' \
    'correlate IN -o out.json' 'diff IN device.json -o out' 'diff device.json IN' 'diff IN IN' 'cut IN -o out.json' \
    'merge IN -o out.json' 'analyze memory IN' 'link-legacy host.json IN -o out.json'; do
    for file in list.json events.json names.json; do
        text=$(sutra $(echo "$command" | sed "s/IN/$file/g") 2>&1)
        code=$?
        case $code$text in
        65*"$file: the trace has no events: record at least one step"*) ;;
        *) echo "sutra $command, $file: exit $code, $text" ;;
        esac
    done
done
ls | grep '^out'
echo "-- one of several ranks"
try sutra analyze device.json events.json -q 2>&1 | grep -v '^ ' | head -4
echo "-- commands that describe, repair or link a trace"
for file in list.json events.json names.json nodes.json; do
    try sutra info $file 2>&1 | sed '/kind/d; /  [a-z]/d'
done
for file in list.json nodes.json; do
    try sutra columns $file -o $file.arrow 2>&1 | sed '/peak memory/d; /B /d'
done
try sutra repair list.json -q
: >rank.0.et
try sutra simulate rank.0.et
for file in list.json events.json names.json; do
    sutra link host.json $file -o linked.json -q 2>&1 | grep nothing
    sutra info host.json $file | grep -A1 cause
done
sutra link nodes.json device.json -o linked.json -q 2>&1 | grep -v 'is of process'

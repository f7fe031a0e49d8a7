# The page and the files of analyze dlrm: of recorded iterations, of other parts of the trace, of traces that lack things.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze dlrm trace.json.gz -o results --model "a/model"
ls results
quietly sutra analyze dlrm trace.json.gz --whole --compat --batch 1
quietly sutra analyze dlrm trace.json.gz --percentage 40:60 -q --stats stats.json
grep -A 5 counts stats.json
quietly sutra analyze dlrm trace.json.gz --iters 60
gzip -dc trace.json.gz | sutra analyze dlrm - -q -o piped
ls piped | grep overheads_

event() {
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": 1, "ts": %s, "dur": %s, "args": {%s}}' "$@"
}
echo "{\"traceEvents\": [$(event cpu_op '## f' 1 20 '')]}" >bare.json
quietly sutra analyze dlrm bare.json -o bare
cat bare/overheads_bare.json bare/breakdown.json
echo
echo "{\"traceEvents\": [$(event cpu_op a 1 -5 ''), $(event cpu_op b 2 5 ''), $(event cpu_op c 3 5 '')]}" >odd.json
quietly sutra analyze dlrm odd.json
echo '{"traceEvents": []}' >empty.json
quietly sutra analyze dlrm empty.json
quietly sutra analyze dlrm odd.json --module-marker '## '
# The page fits 100 columns.
sutra analyze dlrm trace.json.gz 2>/dev/null | awk 'length > 100 { print "too wide: " $0 }'

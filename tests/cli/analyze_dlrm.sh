# Page and files of analyze dlrm: recorded iterations, other windows, traces that lack data.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze dlrm trace.json.gz -o results --model "a/model"
ls results
quietly sutra analyze dlrm trace.json.gz --full-trace --compat --batch 1
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
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
quietly sutra analyze dlrm empty.json
quietly sutra analyze dlrm odd.json --module-marker '## '
# A file for each stream, or one for all of many.
awk 'BEGIN {
    printf "{\"traceEvents\": [{\"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 1000}"
    for (i = 1; i <= 101; i++) {
        printf ", {\"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": 1, ", i
        printf "\"args\": {\"correlation\": %d}}, {\"cat\": \"kernel\", \"name\": \"k\", \"ts\": %d, \"dur\": 1, ", i, i + 5
        printf "\"args\": {\"correlation\": %d, \"stream\": %d}}", i, i
    }
    print "]}"
}' >streams.json
sutra analyze dlrm streams.json -q -o streams --no-report
ls streams | grep variants
head -n 3 streams/streams.chart_variants.txt
grep -c Stream: streams/streams.chart_variants.txt
# Without bandwidths the table of HTA has its headings only.
echo "{\"traceEvents\": [$(event gpu_memset Memset 1 5 '"stream": 7, "correlation": 1')]}" >memset.json
quietly sutra analyze hta memset.json -q -o memset
cat memset/memory_bw_summary.csv
# The page fits 100 columns.
sutra analyze dlrm trace.json.gz 2>/dev/null | awk 'length > 100 { print "too wide: " $0 }'

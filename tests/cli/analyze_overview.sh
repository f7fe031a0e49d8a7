# The overview: the page and its JSON, of one rank and of several.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze trace.json.gz
sutra analyze trace.json.gz 2>/dev/null | awk 'length > 80 { print "too wide: " $0 }'
quietly sutra analyze trace.json.gz --format json
mkdir traces
cp trace.json.gz traces/x_rank2.json.gz
cp trace.json.gz traces/x_rank1.json.gz
quietly sutra analyze traces
sutra analyze traces --format json -q | grep '"rank"' | cut -c 1-40
quietly sutra analyze trace.json.gz -q
sutra analyze trace.json.gz -q --stats - | grep -E 'n_ranks|n_findings'

# Without anything to say.
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
quietly sutra analyze empty.json
quietly sutra analyze empty.json -f json
printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k\\u001b[31m", "pid": 0, "tid": 7, "ts": 1, "dur": 5}]}' >strange
quietly sutra analyze strange
quietly sutra analyze nowhere
quietly sutra analyze nowhere.json

# As a page, with the tables behind it.
mkdir out
quietly sutra analyze trace.json.gz -o out -q
ls out
head -n 3 out/step_ranks.csv
cut -c 1-60 out/findings.csv
quietly sutra analyze trace.json.gz -o out -q --force --table-format json --no-report --annotation '## Forward ##'
grep -o '"step": "[^"]*"' out/steps.json | head -n 2
quietly sutra analyze trace.json.gz --print-path

# The same bytes for any number of threads.
for threads in 1 2 3; do
    quietly sutra analyze trace.json.gz -o "on$threads" -q --threads $threads
    diff -r on1 "on$threads" && echo same
done

# Page and tables of analyze hta: one rank, several ranks with malformed traces, traces without kernels.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze hta trace.json.gz -o tables
ls tables
head -n 2 tables/temporal_breakdown.csv tables/launch_calls.csv
quietly sutra analyze hta trace.json.gz -o json --table-format json --no-series --quiet
ls json
cat json/temporal_breakdown.json

# As HTA computes it, by its newer rules, with the trace once more.
quietly sutra analyze hta trace.json.gz -o newer --hta-version 0.6 --compat --sequences aten::addmm --sequence-kernels 1 \
    --full-queue 5 --write-counters json --no-report --no-series | sed -n 1,3p
ls newer | grep -E 'json|frequent'
cat newer/rules.json newer/profiler_steps.json newer/potential_stragglers.json newer/time_spent_blocked_on_full_queue.csv
cut -c 1-60 newer/frequent_cuda_kernel_sequences.rank0.csv | head -n 3
grep -o '"ph": "C", "name": "[A-Za-z, %]*"' newer/trace_with_counters.rank0.json | sort | uniq -c
quietly sutra analyze hta trace.json.gz --write-counters json

echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}]}' >bare.json
quietly sutra analyze hta bare.json

# Launches that HTA does not know are told, and no more when they count.
launched() {
    printf '{"ph": "X", "cat": "%s", "name": "%s", "ts": %s, "dur": 2, "args": {%s"correlation": %s}}' "$@"
}
echo "{\"traceEvents\": [$(launched cuda_driver cuLaunchKernelEx 1 '' 5), $(launched kernel k 9 '"stream": 7, ' 5)," \
    "$(launched cuda_runtime cudaLaunchKernel 4 '' 6), $(launched kernel l 12 '"stream": 7, ' 6)]}" >driver.json
sutra analyze hta driver.json 2>/dev/null | grep -A 5 'launches  '
sutra analyze hta driver.json --all-launches 2>/dev/null | grep -A 5 'launches  '

echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
quietly sutra analyze hta empty.json | sed -n 1,4p

mkdir traces
gzip -dc trace.json.gz | sed 's/"schemaVersion": 1,/&"distributedInfo": {"rank": 3},/' >traces/a.json
cp trace.json.gz traces/x_rank10.json.gz
cp trace.json.gz traces/x_rank2.json.gz
head -c 5000 traces/a.json >traces/cut_rank4.json
cp traces/a.json traces/z.json
echo 'no trace' >traces/notes.txt
quietly sutra analyze hta traces -o all
ls all | grep rank
cut -d, -f 1,2 all/rank_summary.csv
quietly sutra analyze hta traces --strict
quietly sutra analyze hta traces/a.json traces/x_rank2.json.gz -q --stats stats.json
grep -A 7 counts stats.json
# The page fits 100 columns.
sutra analyze hta traces 2>/dev/null | awk 'length > 100 { print "too wide: " $0 }'

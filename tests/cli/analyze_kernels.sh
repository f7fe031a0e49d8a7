# Page and tables of analyze kernels.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze kernels trace.json.gz -o tables
ls tables
head -n 3 tables/kernels.csv tables/kernel_configurations.csv
cat tables/kernel_durations.csv
sutra analyze kernels trace.json.gz 2>/dev/null | awk 'length > 80 { print "too wide: " $0 }'
sutra analyze operators trace.json.gz 2>/dev/null | awk 'length > 80 { print "too wide: " $0 }'
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
quietly sutra analyze kernels empty.json
# Names of PyTorch's kernels, shortened once, and so that different names remain different.
for model in memory transformer; do
    sutra analyze kernels "$DATA/link/h200_$model/device.json.gz" 2>/dev/null | grep -A 4 '^  kernels'
done

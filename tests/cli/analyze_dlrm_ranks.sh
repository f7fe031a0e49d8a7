# analyze dlrm of several ranks: the page, files of each rank and of all ranks, malformed traces, a time measured
# without the profiler.
. "$TOOLS/common.sh"
analysis_trace
mkdir traces
gzip -dc trace.json.gz | sed 's/"schemaVersion": 1,/&"distributedInfo": {"rank": 3},/' >traces/a.json
cp trace.json.gz traces/x_rank10.json.gz
gzip -dc trace.json.gz | sed 's/"dur": 13,/"dur": 10,/g' >traces/x_rank2.json
head -c 5000 traces/a.json >traces/cut_rank4.json
cp traces/a.json traces/z.json
echo 'no trace' >traces/notes.txt
quietly sutra analyze dlrm traces -o all --iteration-time 1500.5
ls all all/rank10
cat all/ranks.csv all/rank3/summary.log
for file in overheads_merged_raw.csv rank2/overheads_by_shape_raw.csv; do
    cut -d, -f 1 all/$file | sort | uniq -c
done
quietly sutra analyze dlrm traces --strict
quietly sutra analyze dlrm traces/a.json traces/x_rank2.json -o two -m 'a, b' -q --no-report --stats stats.json
grep -A 6 counts stats.json
ls two/rank2 | grep -E 'report|charts'
head -n 3 two/overheads_merged_raw.csv
quietly sutra analyze dlrm traces/a.json traces/x_rank2.json -o two -q --no-report --threads 1 -m 'a, b'
echo "refused:"
try sutra analyze dlrm traces -o all --print-path
try sutra analyze dlrm traces --stats traces/z.json
cp traces/cut_rank4.json cut_again.json
try sutra analyze dlrm traces/cut_rank4.json cut_again.json
echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}]}' >bare.json
cp bare.json other.json
quietly sutra analyze dlrm bare.json other.json -o bare
cat bare/overheads_merged.json bare/overheads_merged_raw.csv bare/ranks.csv bare/rank1/summary.log
touch file
mkdir full
touch full/rank1
try sutra analyze dlrm bare.json other.json -o full -q
# The page fits 100 columns.
sutra analyze dlrm traces 2>/dev/null | awk 'length > 100 { print "too wide: " $0 }'

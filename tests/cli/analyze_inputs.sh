# A duplicate input, and an output that would overwrite an input, are refused before anything is written.
. "$TOOLS/common.sh"
analysis_trace
mkdir oo ranks
ln -s trace.json.gz other.json.gz
cp trace.json.gz ranks/rank0.json.gz
for analysis in hta dlrm; do
    try sutra analyze $analysis trace.json.gz ./trace.json.gz -o oo
    try sutra analyze $analysis trace.json.gz other.json.gz -o oo
    try sutra analyze $analysis ranks ranks/rank0.json.gz -o oo
done
gzip -dc trace.json.gz >oo/temporal_breakdown.csv
cp oo/temporal_breakdown.csv oo/temporal_breakdown.json
cksum oo/* >before
try sutra analyze hta oo/temporal_breakdown.csv -o oo
try sutra analyze dlrm oo/temporal_breakdown.csv -o ../cwd/oo/
try sutra analyze hta oo/temporal_breakdown.json -o oo --table-format json -q --no-report
cksum oo/temporal_breakdown.* | cmp - before

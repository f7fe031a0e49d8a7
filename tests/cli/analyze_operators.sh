# The tables of analyze operators: ours and TraceLens', of one rank and of several.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze operators trace.json.gz -o tables
ls tables
head -n 3 tables/operators.csv tables/operator_categories.csv tables/gpu_timeline.csv
quietly sutra analyze operators trace.json.gz -o compat --compat tracelens -q
ls compat
head -n 3 compat/ops_summary.csv

quietly sutra analyze operators trace.json.gz -o json --format json -q
head -n 2 json/operator_categories.json

echo '{"traceEvents": []}' >empty.json
quietly sutra analyze operators empty.json -o empty --compat tracelens
head empty/ops_summary.csv empty/kernels.csv

mkdir traces
cp trace.json.gz traces/x_rank2.json.gz
cp trace.json.gz traces/x_rank1.json.gz
quietly sutra analyze operators traces -o all -q
cut -d, -f 1,2 all/operator_categories.csv
quietly sutra analyze operators traces -o all_compat --compat tracelens -q
ls all_compat | grep kernels
quietly sutra analyze operators

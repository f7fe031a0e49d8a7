# Tables of analyze operators: sutra's and TraceLens', of one rank and of several.
. "$TOOLS/common.sh"
analysis_trace
quietly sutra analyze operators trace.json.gz -o tables
ls tables
head -n 3 tables/operators.csv tables/operator_categories.csv tables/gpu_timeline.csv
quietly sutra analyze operators trace.json.gz -o compat --compat tracelens -q
ls compat
head -n 3 compat/ops_summary.csv

quietly sutra analyze operators trace.json.gz -o json --table-format json -q
head -n 2 json/operator_categories.json

echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
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

# Parts of the work, and of the ranks.
quietly sutra analyze operators traces --rank 2 -o two -q --no-report
cut -d, -f 1,2 two/operator_categories.csv
quietly sutra analyze operators traces --rank 5 -o five -q
quietly sutra analyze operators traces --rank x
quietly sutra analyze operators trace.json.gz --category gemm -o gemm -q --no-report
cut -d, -f 2,4 gemm/operator_categories.csv
quietly sutra analyze operators trace.json.gz --step 99 -q
quietly sutra analyze operators trace.json.gz --category x -q
quietly sutra analyze operators trace.json.gz --step 0 --compat tracelens -q

# Selections in every analysis: ranks, steps, times, names, streams, categories; and errors of empty selections.
. "$TOOLS/common.sh"
analysis_trace
sutra gen -n 2k --ranks 4 --collectives --host hosts --device traces
for analysis in "" hta collectives; do
    quietly sutra analyze $analysis traces --rank 1,3 --step 0-1 --from-us 10 -o ranks$analysis -q --no-report
    quietly sutra analyze $analysis traces/device.2.json --stream 7 --step 0 -o stream$analysis -q --no-report
done
cut -d, -f 1,3,4 ranks/rank_summary.csv rankshta/rank_summary.csv streamhta/rank_summary.csv
cut -d, -f 1,3 rankscollectives/collective_ranks.csv
quietly sutra analyze dlrm traces --rank 2 --step 0 -o dlrm -q --no-report
ls dlrm
quietly sutra analyze hta traces/device.2.json --name nccl --step 0 --to-us 10 -q
quietly sutra analyze operators traces/device.2.json --step 0 --compat tracelens -o tables -q
head -n 2 tables/gpu_timeline.csv
quietly sutra analyze hta trace.json.gz --category gemm -o gemm -q --no-report
cut -d, -f 1,3,4 gemm/rank_summary.csv
quietly sutra analyze kernels trace.json.gz --name add -o kernels -q --no-report
cut -d, -f 2,4 kernels/kernels.csv

# What there is not.
for analysis in "" hta dlrm collectives kernels; do
    quietly sutra analyze $analysis traces/device.0.json --step 99 -q
done
quietly sutra analyze hta traces --rank 7-9,12 -q
quietly sutra analyze hta traces --rank 3-1 -q
quietly sutra analyze hta trace.json.gz --step 1 -q
quietly sutra analyze hta trace.json.gz --stream 99 -q
quietly sutra analyze hta trace.json.gz --category SDPA_fwd -q
quietly sutra analyze hta trace.json.gz --category x -q
quietly sutra analyze hta trace.json.gz --name 'no such name' -q
quietly sutra analyze hta trace.json.gz --from-us 4G -q
quietly sutra analyze hta trace.json.gz --from-us 20 --to-us 10 -q
quietly sutra analyze hta trace.json.gz --step 1 --write-counters json -o counters -q

# A rank that the beginning of a file tells is left out unread.
printf '{"distributedInfo": {"rank": 5}, "traceEvents": [{"ph": "X", "broken' >traces/broken.json
quietly sutra analyze hta traces --rank 3 -q
quietly sutra analyze hta traces --rank 3,5 -q

#!/usr/bin/env bash
# golden_job.sh - tests a recorded job of two ranks, linked by one command: the bytes of chakra_trace_link for each
# pair.
. tests/golden.sh
data=$PWD/tests/data/link
cd "$work" && mkdir hosts devices || exit 71
for rank in 0 1; do
    cp "$data/torch_gloo2_r${rank}_ne/host.json.gz" "hosts/et.$rank.json.gz" || exit 1
    cp "$data/torch_gloo2_r${rank}_ne/device.json.gz" "devices/kineto_rank$((1 - rank)).json.gz" || exit 1 # the name is wrong
done
"$SUTRA" link hosts devices -o linked -q 2>/dev/null || exit 1
for rank in 0 1; do
    gzip -dc "$data/torch_gloo2_r${rank}_ne/out.json.gz" | cmp - "linked/rank.$rank.json" || exit 1
done
echo "2 ranks, the reference's bytes"

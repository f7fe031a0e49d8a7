# Sends and receives of a recorded pair of ranks: peers and tags from the operators above the kernels, so that both
# files agree; and each correction of convert disabled on its own.
. "$TOOLS/common.sh"
for rank in 0 1; do
    pair=$DATA/convert/p2p_r$rank
    sutra link "$pair/host.json.gz" "$pair/device.json.gz" -o plus$rank.json --no-sync --quiet
    sutra convert plus$rank.json -o job.$rank.et --quiet
    sutra link "$pair/host.json.gz" "$pair/device.json.gz" -o straight.et --no-sync --quiet --plain
    cmp job.$rank.et straight.et
done
sutra convert plus0.json -o - 2>&1 >job.0.et | grep 'sends\|receives'
sutra jsonize job.0.et --lines | grep COMM_SEND | grep -o '{"name": "comm_[^}]*}'
sutra check job.0.et job.1.et | grep -c R2
sutra simulate job.0.et job.1.et >/dev/null && echo simulated
sutra link "$DATA/convert/p2p_r0/host.json.gz" "$DATA/convert/p2p_r0/device.json.gz" -o faithful.0.et --no-sync --quiet
sutra jsonize faithful.0.et --lines | grep COMM_SEND | grep -o '{"name": "comm_tag[^}]*}'
# Left alone: no peers, which the simulator misses.
sutra convert plus0.json -o job.0.et --no-peers 2>&1 | grep 'sends\|lack'
sutra check job.0.et job.1.et | grep -o 'error R23: .*nodes'

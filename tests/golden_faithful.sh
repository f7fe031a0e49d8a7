#!/usr/bin/env bash
# golden_faithful.sh - files that `sutra link -o X.et` and `sutra convert --faithful` make take the measured time: recorded
# pairs, and made-up runs that wait for the GPU in each way, whose simulation on another GPU takes the time that the same
# run takes there.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0

# measured HOST DEVICE: microseconds from the first start to the last end of what is linked.
measured() {
    "$SUTRA" link "$1" "$2" -o "$folder/plus.json" --no-sync --quiet
    python3 -c '
import json, sys
nodes = [node for node in json.load(open(sys.argv[1]))["nodes"] if "ts" in node]
print(max(n["ts"] + n["inclusive_dur"] for n in nodes) - min(n["ts"] for n in nodes))' "$folder/plus.json"
}

# simulated FILE [OPTION...]: microseconds; all nodes must run.
simulated() {
    "$SUTRA" simulate "$@" --format json --quiet >"$folder/simulated.json"
    grep -q '"never_ran": 0,' "$folder/simulated.json" || { echo "nodes never ran" >&2 && return 1; }
    sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p' "$folder/simulated.json"
}

# near WHAT A B SHARE: whether A and B differ by at most this share.
near() {
    awk -v a="$2" -v b="$3" -v share="$4" 'BEGIN { exit !(a > b * (1 - share) && a < b * (1 + share)) }' || {
        echo "$1: $2 us simulated, $3 us measured"
        exit 1
    }
    n=$((n + 1))
}

for case in tests/data/link/*/; do
    [ -e "$case/out.json.gz" ] && [ -e "$case/device.json.gz" ] || continue
    time=$(measured "$case/host.json.gz" "$case/device.json.gz" 2>/dev/null) || continue
    for gpu in one streams; do
        "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$folder/rank.0.et" --gpu $gpu --quiet
        cpu=$([ $gpu = one ] && echo one || echo threads)
        near "$case, GPU: $gpu" "$(simulated "$folder/rank.0.et" --gpu $gpu --cpu "$cpu")" "$time" 0.005
    done
    "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$folder/threads.0.et" --quiet --gpu streams --threads 4
    cmp "$folder/rank.0.et" "$folder/threads.0.et"
    "$SUTRA" convert "$folder/plus.json" --faithful -o "$folder/plus.0.et" --quiet
    near "$case, from ET+" "$(simulated "$folder/plus.0.et")" "$time" 0.005
    "$SUTRA" convert "$folder/plus.json" --faithful -o "$folder/threads.0.et" --quiet --threads 4
    cmp "$folder/plus.0.et" "$folder/threads.0.et"
done
[ $n -gt 0 ] || { echo "no pair in tests/data/link has times" && exit 1; }

for sync in plain stream event device; do
    for scale in 0.5 1 2; do
        "$SUTRA" gen --events 5k --seed 5 --sync $sync --gpu-scale $scale --host "$folder/host.$scale" \
            --device "$folder/device.$scale"
    done
    "$SUTRA" link "$folder/host.1" "$folder/device.1" -o "$folder/rank.0.et" --quiet
    "$SUTRA" link "$folder/host.1" "$folder/device.1" -o "$folder/linked.json" --quiet
    "$SUTRA" convert "$folder/linked.json" --faithful -o "$folder/plus.0.et" --quiet
    for scale in 0.5 1 2; do
        time=$(measured "$folder/host.$scale" "$folder/device.$scale")
        near "a GPU $scale times as slow, sync: $sync" "$(simulated "$folder/rank.0.et" --scale gpu:$scale)" "$time" 0.03
        near "the same from ET+" "$(simulated "$folder/plus.0.et" --scale gpu:$scale)" "$time" 0.1
    done
done

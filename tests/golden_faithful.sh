#!/usr/bin/env bash
# golden_faithful.sh - tests measured times in files of `sutra link -o X.et` and `sutra convert --faithful`: simulations
# take the measured time of recorded pairs, and of synthetic runs with each kind of synchronization; scaled to another
# GPU they take the time of the same run there.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
. tests/golden.sh

# measured HOST DEVICE: microseconds from the first start to the last end of what is linked.
measured() {
    "$SUTRA" link "$1" "$2" -o "$work/plus.json" --no-sync --quiet
    python3 -c '
import json, sys
nodes = [node for node in json.load(open(sys.argv[1]))["nodes"] if "ts" in node]
print(max(n["ts"] + n["inclusive_dur"] for n in nodes) - min(n["ts"] for n in nodes))' "$work/plus.json"
}

# simulated FILE [OPTION...]: microseconds; all nodes must run.
simulated() {
    "$SUTRA" simulate "$@" --format json --quiet >"$work/simulated.json"
    grep -q '"never_ran": 0,' "$work/simulated.json" || { echo "nodes never ran" >&2 && return 1; }
    sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p' "$work/simulated.json"
}

for case in tests/data/link/*/; do
    [ -e "$case/out.json.gz" ] && [ -e "$case/device.json.gz" ] || continue
    time=$(measured "$case/host.json.gz" "$case/device.json.gz" 2>/dev/null) || continue
    for gpu in one streams; do
        "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$work/rank.0.et" --gpu $gpu --quiet
        cpu=$([ $gpu = one ] && echo one || echo threads)
        near "$case, GPU: $gpu" "$(simulated "$work/rank.0.et" --gpu $gpu --cpu "$cpu")" "$time" 0.005
    done
    "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$work/threads.0.et" --quiet --gpu streams --threads 4
    cmp "$work/rank.0.et" "$work/threads.0.et"
    "$SUTRA" convert "$work/plus.json" --faithful -o "$work/plus.0.et" --quiet
    near "$case, from ET+" "$(simulated "$work/plus.0.et")" "$time" 0.005
    "$SUTRA" convert "$work/plus.json" --faithful -o "$work/threads.0.et" --quiet --threads 4
    cmp "$work/plus.0.et" "$work/threads.0.et"
done
[ $n_checks -gt 0 ] || { echo "no pair in tests/data/link has times" && exit 1; }

for sync in plain stream event device; do
    for scale in 0.5 1 2; do
        "$SUTRA" gen --events 5k --seed 5 --sync $sync --gpu-scale $scale --host "$work/host.$scale" \
            --device "$work/device.$scale"
    done
    "$SUTRA" link "$work/host.1" "$work/device.1" -o "$work/rank.0.et" --quiet
    "$SUTRA" link "$work/host.1" "$work/device.1" -o "$work/linked.json" --quiet
    "$SUTRA" convert "$work/linked.json" --faithful -o "$work/plus.0.et" --quiet
    for scale in 0.5 1 2; do
        time=$(measured "$work/host.$scale" "$work/device.$scale")
        near "a GPU $scale times as slow, sync: $sync" "$(simulated "$work/rank.0.et" --scale gpu:$scale)" "$time" 0.03
        near "the same from ET+" "$(simulated "$work/plus.0.et" --scale gpu:$scale)" "$time" 0.1
    done
done
finish

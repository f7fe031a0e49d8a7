#!/usr/bin/env bash
# golden_causal.sh - tests causality of synthetic traces with each kind of synchronization, event by event
# (causal_check.py); a run on a slower GPU must be the same run.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
. tests/golden.sh
for sync in plain stream event device; do
    for scale in 1 3; do
        "$SUTRA" gen --events 20k --seed 7 --sync $sync --gpu-scale $scale --host "$work/host.json" \
            --device "$work/$scale.json"
    done
    python3 tests/causal_check.py $sync "$work/1.json" "$work/3.json"
done

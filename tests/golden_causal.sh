#!/usr/bin/env bash
# golden_causal.sh - in made-up runs effects follow their causes, whatever the run waits for, and a run on a slower GPU is
# the same run: checked event by event by causal_check.py.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for sync in plain stream event device; do
    for scale in 1 3; do
        "$SUTRA" gen --events 20k --seed 7 --sync $sync --gpu-scale $scale --host "$folder/host.json" \
            --device "$folder/$scale.json"
    done
    python3 tests/causal_check.py $sync "$folder/1.json" "$folder/3.json"
done

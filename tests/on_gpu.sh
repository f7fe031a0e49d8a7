# on_gpu.sh - sourced by tests that need a GPU: skips the test without one. $SUTRA is the program.
"$SUTRA" devices --json | grep -q '"refused": ""' || { echo "skipped: no GPU: $("$SUTRA" devices | head -n 1)"; exit 77; }

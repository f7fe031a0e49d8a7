# on_gpu.sh - for tests that need a GPU: source it, and without one the test ends as skipped. In $SUTRA is the program.
"$SUTRA" devices --json | grep -q '"refused": ""' || { echo "skipped: no GPU: $("$SUTRA" devices | head -n 1)"; exit 77; }

# golden_report_browser.sh - tests the HTML reports of analyze in Chromium: an empty console, no clipped or overlapping
# text, for wide and narrow windows, in light and dark mode; numbers match their charts, and a click on a heading sorts.
. tests/golden.sh
browser=
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -z "$browser" ] && [ -n "$name" ] && browser=$(command -v "$name")
done
[ -n "$browser" ] || { echo "needs chromium"; exit 77; }
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
case=tests/data/analyze/synth/trace.json.gz
python3 tests/report_traces.py "$work" || exit 70
mkdir "$work/out" "$work/run"
for window in 1 2 3; do
    "$SUTRA" gen --events 1k --ranks 2 --seed $window --host "$work/hosts" --device "$work/run/step_$window" -q || exit 1
    sed -i "s/\"baseTimeNanoseconds\": 17908/\"baseTimeNanoseconds\": 1791$window/" "$work/run/step_$window"/*
done
"$SUTRA" analyze "$case" -o "$work/out/overview_synth" -q &&
    "$SUTRA" analyze dlrm "$case" -o "$work/out/dlrm_synth" -q &&
    "$SUTRA" analyze operators tests/fuzz/corpus/operators/whole.json -o "$work/out/operators" -q &&
    "$SUTRA" analyze kernels "$work/hostile.json" -o "$work/out/kernels_hostile" -q &&
    "$SUTRA" analyze "$work/many" -o "$work/out/overview_ranks" -q &&
    "$SUTRA" analyze "$work/run" --window all -o "$work/out/trend" -q &&
    "$SUTRA" analyze collectives "$work/many" -o "$work/out/collectives" -q &&
    "$SUTRA" analyze hta "$work/huge.json" -o "$work/out/hta_huge" -q &&
    "$SUTRA" analyze dlrm "$work/hostile.json" -o "$work/out/dlrm_hostile" -q || exit 1
python3 tests/report_browser.py "$browser" "$work"/out/*

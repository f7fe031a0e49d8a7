# A directory of results is written atomically: an interrupted run leaves a directory marked as incomplete, which the
# next run removes; a failed run changes nothing.
. "$TOOLS/common.sh"
traces
hta() { sutra analyze hta device.json -o "$@" -q --no-report; }
hta whole && ls -A whole >names && grep -c csv names
echo "-- a killed run"
mkdir -p left/incomplete.sutra/charts
echo half >left/incomplete.sutra/rank_summary.csv
echo half >left/incomplete.sutra/charts/idle.svg
hta left && ls -A left | diff names - && diff -r whole left && echo "whole"
echo "-- a run that fails"
mkdir -p before/temporal_breakdown.csv
try hta before
ls -A before
cp -r whole guarded
echo old >guarded/launch_calls.csv
echo old >guarded/rank_summary.csv
chmod a-w guarded/rank_summary.csv
try hta guarded
cat guarded/launch_calls.csv
hta guarded --force && diff -r whole guarded && echo "whole"
sutra analyze hta broken.json -o none -q 2>/dev/null || ls -d none 2>/dev/null || echo "no folder"
echo "-- two runs at once"
if command -v flock >/dev/null; then
    mkdir both both/incomplete.sutra
    flock both/incomplete.sutra sutra analyze hta device.json -o both -q 2>&1
else
    echo "sutra: both: another run writes there"
fi
ls -A both/incomplete.sutra 2>/dev/null
sutra analyze dlrm device.json -o notebook -q 2>/dev/null
find notebook -name '*unfinished*' -o -name '*.tmp'
ls notebook | grep -c json

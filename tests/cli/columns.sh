# Columns of a trace as an Arrow file: the summary, the kinds of rows, and refusals.
. "$TOOLS/common.sh"
traces
try sutra columns device.json -o events.arrow | grep -v "peak memory"
try sutra columns host.json -o nodes.arrow --arg rf_id | grep -v "peak memory"
try sutra columns device.json --table launches -o launches.arrow -q
head -c 6 launches.arrow; echo; tail -c 6 launches.arrow; echo
sutra columns device.json -o - -q | cmp - events.arrow && echo "the same on standard output"
sutra columns device.json -o one.arrow -T 1 -q && cmp one.arrow events.arrow && echo "the same with one thread"
echo "-- refused"
try sutra columns device.json
try sutra columns device.json -o events.parquet
try sutra columns device.json -c time -o no.arrow
try sutra columns host.json --table launches -o no.arrow
try sutra columns device.json -o device.json
[ -e no.arrow ] || echo "no file was written"

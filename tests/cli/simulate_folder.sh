# A directory of .et files is a job: its ranks are simulated and checked.
. "$TOOLS/common.sh"
mkdir job empty
et_file >job/rank.10.et
et_file >job/rank.2.et
echo note >job/notes.txt
cp job/rank.2.et job/.rank.3.et
try sutra simulate job
sutra simulate job/rank.2.et job/rank.10.et --format json >files.json
sutra simulate job/ --format json | cmp - files.json && echo same
try sutra check job
try sutra simulate empty
try sutra check empty
gzip -c job/rank.2.et >job/rank.2.et.gz
try sutra simulate job
echo "-- a job that was linked"
traces
mkdir traces
sed 's/"traceEvents"/"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents"/' device.json >traces/device.0.json
cp host.json traces/host.0.json
sutra link traces traces -o linked --format et --quiet
ls linked
sutra simulate linked | head -1 | sed 's/^[0-9.]* ms/TIME/'
sutra check linked | tail -1

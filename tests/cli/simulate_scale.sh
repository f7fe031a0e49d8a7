# Other numbers of layers, micro-batches and replicas: page, JSON, written files, and refused what-ifs.
. "$TOOLS/common.sh"
# job NAME NUMBER...
job() { python3 "$TOOLS/../scale_job.py" "$@"; }
time_of() { sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p'; }
job pipeline pp=2 dp=2 micro=4 layers=8
sutra simulate pipeline --micro-batches 8 | head -3
sutra simulate pipeline --layers 16 --micro-batches 2 --scale compute:0.5 | head -3
sutra simulate pipeline --data-parallel 4 --hop 1 | head -4
sutra simulate pipeline --data-parallel 4 --hop 1 --format json | sed -n 2,4p
for what in "--micro-batches 8" "--layers 12" "--data-parallel 4" "--data-parallel 1 --micro-batches 3 --layers 4" \
    "--data-parallel 3 --remove comm"; do
    expected=$(sutra simulate pipeline $what --write changed --force --quiet --format json | time_of)
    found=$(sutra simulate changed --quiet --format json | time_of)
    [ "$expected" = "$found" ] && echo "$what: the same time" || echo "$what: $expected, but written $found"
    rm -r changed
done
sutra simulate pipeline --data-parallel 3 --hop 0.5 --write changed --quiet >/dev/null
ls changed
cat changed/comm_groups.json
sutra jsonize changed/rank.5.et --lines | sed -n 1p | grep -o '"what_if".*'
sutra simulate changed --micro-batches 8 --quiet | head -1
job flat dp=2 sizes=1
sutra simulate flat --data-parallel 4 --quiet | head -2
echo "-- refused"
try sutra simulate pipeline --layers 7
try sutra simulate pipeline --layers 2 --micro-batches 1 --data-parallel 16
try sutra simulate pipeline --data-parallel 16 --network beta=50GB/s
sutra simulate pipeline --data-parallel 16 --network alpha=20us,beta=50GB/s --quiet | head -1
try sutra simulate pipeline/rank.0.et pipeline/rank.1.et pipeline/rank.3.et --data-parallel 4
try sutra simulate pipeline/rank.0.et --data-parallel 4
try sutra simulate flat --micro-batches 2
et_file >job.0.et
try sutra simulate job.0.et --micro-batches 2
echo "-- wrong options"
try sutra simulate pipeline --layers 0
try sutra simulate pipeline --hop 1
try sutra simulate pipeline --data-parallel 4 --hop x
try sutra simulate pipeline --data-parallel 4 --network alpha=1m

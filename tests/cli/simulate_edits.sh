# Other numbers of layers and micro-batches: the repeated block, recorded numbers, and jobs that cannot be edited.
. "$TOOLS/common.sh"
# job NAME NUMBER...
job() { python3 "$TOOLS/../scale_job.py" "$@"; }
# A block of an alternating model is two layers: six layers are three blocks.
job experts dp=4 layers=6 experts=1 every=2
sutra simulate experts --layers 6 --quiet | head -3
sutra simulate experts --layers 3 --quiet | head -4
sutra simulate experts --layers 6 --quiet --format json | sed -n '2,/^  },/p'
job twice dp=4 layers=12 experts=1 every=2
sutra simulate twice --quiet | head -1
echo "-- refused: ring attention is no pipeline"
job ring dp=4 layers=3 ring=1
sutra simulate ring --quiet | head -1
try sutra simulate ring --micro-batches 1
try sutra simulate ring --micro-batches 3
try sutra simulate ring --layers 3
echo "-- refused: passes, ranks or steps differ"
job few dp=2 layers=4 micro=2
job many dp=2 layers=4 micro=3
job deep dp=2 layers=5 micro=2
try sutra simulate few/rank.0.et many/rank.1.et --micro-batches 4
try sutra simulate few/rank.0.et deep/rank.1.et --layers 8
echo "-- refused: the recorded number does not give the recorded time"
job late dp=2 layers=4 micro=2 late=1
try sutra simulate late --layers 8
try sutra simulate late --layers 8 --micro-batches 3
echo "-- refused: inference"
job inference dp=2 tp=2 inference=1
try sutra simulate inference --data-parallel 4
try sutra simulate inference --layers 8
echo "-- rings across hosts"
job hosts dp=8 rph=4 recorded=1
job host dp=4
sutra simulate hosts --data-parallel 16 --quiet | sed -n 2p
sutra simulate hosts --data-parallel 16 --quiet --format json | grep interval
sutra simulate host --data-parallel 8 --quiet --format json | grep interval

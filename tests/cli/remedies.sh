# Mistakes in a command line whose error contains the remedy.
. "$TOOLS/common.sh"
traces
mkdir dir
echo "-- the directory of the output does not exist"
for command in 'link host.json device.json -o no/such/x.json' 'columns device.json -o no/such/x.arrow' \
    'analyze device.json -o no/such' 'analyze device.json -o no/such/' 'analyze hta device.json -o no/such/x' \
    'critical-path device.json -o no/such/x.json' 'cut device.json -o /no/such/x.json' \
    'tree device.json -o x.json --stats no/such.json' 'link host.json device.json -o no/such/'; do
    try sutra $command
done
echo "-- operands"
for command in 'link host.json device.json out.json' 'info dir' 'info dir dir' 'info device.json host.json' \
    'link device.json host.json' 'link device.json host.json -o out.json' \
    'link-legacy --et-file device.json --kineto-file host.json --exact-match' 'link-legacy device.json host.json -o out.json'; do
    try sutra $command
done
cp host.json 'my host.json'
try sutra info device.json 'my host.json'
ls
echo "-- directories of other files"
for name in pickles/a.pickle ets/rank.0.et reports/a.sqlite exports/a.nsys-rep archives/a.tar outer/inner/device.json jsons/device.json; do
    mkdir -p "${name%/*}"
    : >"$name"
done
for dir in pickles ets exports archives outer; do
    try sutra analyze $dir
done
for dir in reports ets; do
    try sutra analyze memory $dir
done
for dir in jsons ets; do
    try sutra analyze nsys $dir
done
try sutra merge pickles -o all.json
try sutra diff pickles jsons
try sutra link ets jsons -o out
echo "-- other inputs"
echo ' ' >blank.json
for command in 'analyze blank.json' 'analyze https://example.org/trace.json' 'analyze device.json/rank0'; do
    try sutra $command
done

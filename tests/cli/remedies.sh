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

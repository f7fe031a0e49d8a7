# Outputs whose names have the extension of a format that the command does not write: exit 64, and nothing is written.
. "$TOOLS/common.sh"
traces
et_file >rank.0.et
mkdir hosts devices
sutra link host.json device.json -o plus.json -q
ls >before
for command in 'columns device.json -o e.csv' 'columns device.json -o e.parquet' 'columns device.json -o e.json.gz' \
    'link host.json device.json -o x.json.xz' 'link host.json device.json -o x.csv' 'link hosts devices -o x.json' \
    'link-legacy --et-file host.json --kineto-file device.json --exact-match -o x.bz2' \
    'cut device.json -o x.zip' 'cut device.json -o x.json --host host.json --host-out x.et' 'merge device.json -o x.html' \
    'repair device.json -o x.pftrace' 'tree device.json -o x.csv' 'correlate device.json -o x.csv' \
    'correlate device.json --format csv -o x.json' 'correlate device.json -o x.arrow' 'critical-path device.json -o x.html' \
    'convert plus.json -o x.csv' 'convert plus.json -o x.et.xz' 'jsonize rank.0.et -o x.et' \
    'draw rank.0.et --collectives -o x.png' 'gen --events 10 --host x.et --device d.json' \
    'gen --events 10 --ranks 2 --host hosts.json' 'analyze device.json -o x.html' 'analyze hta device.json -o x.csv' \
    'analyze operators device.json -o x.xlsx' 'analyze nsys report.sqlite -o x.arrow' 'analyze memory m.pickle -o x.html' \
    'diff device.json plus.json -o x.html' 'simulate rank.0.et -o x.json' 'simulate rank.0.et --trace x.csv' 'simulate rank.0.et --write w.et' \
    'convert plus.json -o x.et --astra a.json' 'cut device.json -o x.json --stats s.csv' 'cut device.json -o x.json --stats s.json.gz'; do
    try sutra $command
done
ls | diff before - | grep -v before
echo "-- names without a known extension"
for name in out x.trace x.2 x.txt.gz /dev/null; do
    sutra cut device.json -o $name -q || echo "$name: exit $?"
done
mkdir dir.csv
sutra analyze hta device.json -o dir.csv -q || echo "dir.csv: exit $?"
sutra correlate device.json --format csv -o x.csv.gz -q && gzip -dc x.csv.gz | head -c 4
echo

# link-legacy: its file, messages and exit codes, also under the name trace_link; differences from the older linker.
. "$TOOLS/common.sh"
older_traces
ln -s "$(command -v sutra)" trace_link
try ./trace_link --et-file host.json --kineto-file device.json --exact-match
cat host_plus.json
echo
mv host_plus.json expected.json

echo "== the same by the program itself, with the logger quiet"
sutra link-legacy --et-file host.json --kineto-file device.json --exact -q 2>/dev/null
cmp host_plus.json expected.json && rm host_plus.json

echo "== without exact match the same file"
sutra link-legacy host.json device.json -o out.json 2>&1 | grep match
cmp out.json expected.json

echo "== compressed input and output"
gzip -k host.json device.json
sutra link-legacy host.json.gz device.json.gz --exact-match -q >/dev/null
gzip -dc host_plus.json.gz | cmp - expected.json

echo "== names of outputs"
mkdir a.json.d
cp host.json a.json.d/x.json.y.json
cp host.json plain
for options in '' --compat-path; do
    for file in a.json.d/x.json.y.json plain; do
        [ "$options" ] && mkdir -p a_plus.json.d
        ./trace_link --et-file $file --kineto-file device.json --exact-match $options 2>&1 >/dev/null | grep dumped
    done
done
cmp plain host.json

echo "== operators that differ"
sed 's/aten::relu/aten::gelu/' host.json >other.json
try ./trace_link --et-file other.json --kineto-file device.json --exact-match -o none.json
./trace_link --et-file other.json --kineto-file device.json --exact-match -o none.json --compat-exit >/dev/null 2>&1
echo "exit $?"
./trace_link --et-file other.json --kineto-file device.json -o near.json 2>&1 | grep -i match
ls ./*ne*.json

echo "== in the words of the program's other commands, with the older log where more is asked for"
own() { sutra link-legacy host.json device.json --exact-match -o own.json "$@" 2>&1 | sed '/ read$/d; / written$/d; /peak memory$/d'; }
own
own --verbose | sed '/^ /d'
own --quiet

echo "== fewer operators in the device trace"
grep -v relu device.json >less.json
sed -i '/"External id": 2, /d' less.json
try ./trace_link --et-file host.json --kineto-file less.json --exact-match -o less_plus.json
try sutra link-legacy host.json less.json --exact-match -o less_plus.json --strict -q
try sutra link-legacy host.json less.json --min-match 0.6 -q -o none.json

echo "== what is wrong with the arguments"
try sutra link-legacy host.json
try sutra link-legacy host.json device.json -o host.json
try sutra link-legacy host.json device.json --min-match 2
try sutra link-legacy - device.json
mkdir hosts devices
try sutra link-legacy hosts devices -o out.json

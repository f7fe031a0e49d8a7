# A Chakra file as JSON: in the format of chakra_jsonizer, and as one object per line.
. "$TOOLS/common.sh"
et_file >job.0.et
try sutra jsonize job.0.et -q
echo
sutra jsonize job.0.et -q --lines
echo "compressed, in a pipe, under the other name:"
gzip -c job.0.et >job.0.et.gz
sutra jsonize - -q --lines -o lines.gz <job.0.et.gz
gzip -dc lines.gz | wc -l
ln -s "$(command -v sutra)" chakra_jsonizer
./chakra_jsonizer --input_filename job.0.et --output_filename out.json
sutra jsonize job.0.et -o other.json -q
cmp out.json other.json
echo "what is wrong:"
try sutra jsonize
try sutra jsonize none.et
try sutra jsonize job.0.et -i job.0.et
try sutra jsonize job.0.et -o job.0.et
head -c 60 job.0.et >cut.et
try sutra jsonize cut.et -o cut.json
echo '{"nodes": []}' >host.json
try sutra jsonize host.json -o host.et
: >empty.et
head -c 64M /dev/zero | gzip >zeros.et.gz
try sutra jsonize zeros.et.gz -o zeros.json
try sutra simulate zeros.et.gz
try sutra check zeros.et.gz
try sutra info zeros.et.gz
gzip -dc zeros.et.gz | try sutra jsonize - -o zeros.json
gzip host.json
try sutra jsonize host.json.gz -o host.et
try sutra jsonize empty.et
echo
ls

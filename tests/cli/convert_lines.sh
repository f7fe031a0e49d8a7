# A Chakra file to lines and back: the same bytes, in a pipe too; changed lines give a changed file.
. "$TOOLS/common.sh"
et_file >job.0.et
sutra jsonize job.0.et --lines -o lines -q
quietly sutra convert lines -o back.et 2>&1 | sed '/ MB\| kB\| B /d'
cmp job.0.et back.et
sutra jsonize job.0.et --lines -q | sutra convert --lines - -o - -q | cmp - job.0.et
gzip -c lines >lines.gz
sutra convert lines.gz --lines -o back.et.gz -q && gzip -dc back.et.gz | cmp - job.0.et
sutra jsonize job.0.et -o objects -q
sutra convert objects -o back.et -q && cmp job.0.et back.et
sed 's/"durationMicros": "9"/"durationMicros": 8/' lines | sutra convert --lines - -o slower.et -q
sutra jsonize slower.et --lines -q | grep -o '"durationMicros": "8"'
sutra convert lines -o back.et -q --stats - | grep n_nodes
echo "what is wrong:"
sed 's/"durationMicros"/"durationNanos"/' lines >wrong
try sutra convert wrong -o wrong.et
ls

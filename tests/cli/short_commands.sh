# Short command lines: the version with one letter, traces without option names, a path whose extension selects the
# format.
. "$TOOLS/common.sh"
sutra -v | sed 's/[0-9][0-9.]*/VERSION/'
try sutra gen --events 300
ls
try sutra critical-path device.json -o path.json -q
head -c 1 path.json
echo
try sutra critical-path device.json -o path.json.gz -q
gzip -dc path.json.gz | cmp - path.json
try sutra critical-path device.json -o path.txt -q
head -n 1 path.txt
try sutra critical-path device.json -o other.json -f text -q
cmp other.json path.txt

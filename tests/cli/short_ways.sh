# What people type first: the version with one letter, traces without names, a path whose format its name tells.
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

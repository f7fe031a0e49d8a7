# Existing outputs: dangling links, read-only files, a limit on the size of files, and temporary files of killed
# programs.
. "$TOOLS/common.sh"
need flock
strange_traces
try sutra link host.json device.json -o whole.json -q | grep -v warning:

echo "-- a link that leads to nothing yet: what it names appears"
mkdir there
ln -s there/target.json dangling
ln -s ../cwd/dangling chain.json
try sutra link host.json device.json -o chain.json -q | grep -v warning:
cmp there/target.json whole.json && [ -L dangling ] && [ -L chain.json ] && echo "behind the links"
ln -s missing/target.json nowhere
try sutra link host.json device.json -o nowhere -q | grep -v warning:

echo "-- a file that is read-only"
echo old >kept.json
chmod 444 kept.json
try sutra link host.json device.json -o kept.json -q | grep -v warning:
try sutra critical-path device.json -o kept.json -q
try sutra gen --events 10 --host kept.json
cat kept.json
try sutra gen --events 10 --host kept.json --device new.json --force
head -c 1 kept.json
echo
try sutra link host.json device.json -o kept.json --force -q | grep -v warning:
cmp kept.json whole.json && stat -c %A kept.json
sutra man --list | sed 1d >names
while read -r page name; do
    # shellcheck disable=SC2086 # the name of a command may have two words
    sutra man $name | sed 's/\\-/-/g' >text
    if grep -q -e '^\\fB-o' -e '--device.*DEVICE' text; then
        grep -q -e '^\\fB--force' text || echo "$page lacks it"
    fi
done <names
rm names text

echo "-- more bytes than a file may have"
(ulimit -f 8 && exec sutra gen --events 10k --host big.json --device big_device.json) 2>err
echo "exit $?"
cat err
gzip -dc "$DATA/link/torch_mlp_nosync/host.json.gz" >real_host.json
gzip -dc "$DATA/link/torch_mlp_nosync/device.json.gz" >real_device.json
(ulimit -f 8 && exec sutra link real_host.json real_device.json -o big.json -q --no-sync) 2>err
echo "exit $?"
cat err
rm err
ls -A

echo "-- what a killed program left is removed, and what another program writes is not"
: >.again.json.0.tmp
: >.again.json.1.tmp
: >.other.json.0.tmp
: >.again.json.x.tmp
flock -n .again.json.0.tmp sutra link host.json device.json -o again.json -q 2>/dev/null
ls -A | grep tmp
sutra link host.json device.json -o again.json -q 2>/dev/null
ls -A | grep tmp

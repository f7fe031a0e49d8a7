# Traces of different runs: a warning and the output; with --strict an error and no output.
. "$TOOLS/common.sh"
strange_traces
sutra link host.json device.json --no-sync -o out.json -q 2>&1 | grep 'nothing matches' | sed 's/[0-9][0-9]*/N/g'
ls
rm out.json
sutra link host.json device.json --no-sync -o out.json -q --strict 2>err
echo "exit $?"
tail -n 1 err | sed 's/[0-9][0-9]*/N/g'
ls

# ET+ of link-legacy: convert keeps the GPU operators, measured times are refused, info counts the GPU operators.
. "$TOOLS/common.sh"
older_traces
summary() { sed 's/^ *[0-9.]* s .*/TIME/; s/^ *[0-9.]* [kM]\{0,1\}B  /SIZE  /'; }
sutra link-legacy host.json device.json -o linked.json --quiet 2>/dev/null
sutra convert linked.json -o a.0.et 2>&1 | summary
sutra jsonize a.0.et --lines --quiet | sed -n '/"name"/ s/, "inputs".*//p'
sutra jsonize a.0.et --lines --quiet | grep -o '{"name": "stream"[^}]*}'
sutra info linked.json | grep -i 'node\|operator'
try sutra convert linked.json --faithful -o b.0.et
sed 's/"parent": 3/"parent": 33/' linked.json >lost.json
try sutra convert lost.json -o b.0.et
ls b.0.et 2>/dev/null
sutra convert linked.json --no-start-times -o c.0.et --quiet

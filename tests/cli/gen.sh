# Synthetic traces have the requested events, are equal for equal seeds, and can be linked.
. "$TOOLS/common.sh"
need python3
sutra gen --events 2k --seed 5 --host h1.json --device d1.json || exit 1
sutra gen -n 2000 -s 5 --host h2.json --device d2.json || exit 1
sutra gen -n 2000 -s 6 --host h3.json --device d3.json || exit 1
cmp h1.json h2.json && cmp d1.json d2.json && echo "equal seeds, equal files"
cmp -s d1.json d3.json || echo "other seed, other files"
sutra info d1.json --json -q | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"], "events")'
sutra link h1.json d1.json -o out.json -q --stats stats.json 2>/dev/null || exit 1
python3 -c 'import json; assert json.load(open("stats.json"))["counts"]["n_gpu_nodes"] > 0'
for shape in realistic unmatched nested overlapping gaps ties deep; do
    sutra gen -n 1500 --shape $shape --host h.json --device d.json || echo "$shape: exit $?"
    sutra link h.json d.json -o out.json -q 2>/dev/null || echo "$shape: link exits with $?"
done

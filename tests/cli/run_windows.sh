# The directory of a run as input of analyze, diff, merge, columns and link: --window, --role, the default window; a
# flat directory as ever.
. "$TOOLS/common.sh"
for window in 1 2 3; do
    for rank in 0 1; do
        [ $window$rank = 31 ] || trace_of run/iteration_${window}0/rank${rank}.json - 10$rank ${window}00 $((1000 * window))
    done
done
head_of() { sed -n '1,2p; /^Next/,$p'; }
quiet() { sutra "$@" 2>/dev/null; }
echo "-- analyze"
quiet analyze run | head_of
quiet analyze run --window 0 | head -n 1
quiet analyze run --window last | head -n 1
quiet analyze run --window iteration_20 --format json | sed -n '/"run": {/,$p'
sutra analyze operators run --window first -o operators -q && ls operators
try sutra analyze run --window 9 -q
try sutra analyze run --window iteration_40 -q
try sutra analyze run --role trainer -q
try sutra analyze collectives run -q --window all
echo "-- diff"
quiet diff run run --window 0 --window-b 1 | head -n 3
mkdir a b
cp run/iteration_10/* a
cp run/iteration_20/* b
quiet diff run run --window 0 --window-b 1 --format json | grep -v '"[ab]": {' >windows.json
quiet diff a b --format json | grep -v '"[ab]": {' >folders.json
cmp windows.json folders.json && echo "as the files of both windows"
echo "-- merge"
sutra merge run -o merged.json -q
sutra merge run/iteration_20/rank0.json run/iteration_20/rank1.json -o files.json -q
cmp merged.json files.json && echo "as the files of the window"
try sutra merge run --window all -o all.json
try sutra merge run -o run/iteration_10/rank0.json -q
echo "-- columns"
try sutra columns run -o out.arrow -q
sutra columns run --window 1 --rank 0 -o out.arrow -q
sutra columns run/iteration_20/rank0.json -o file.arrow -q
cmp out.arrow file.arrow && echo "as the file"
try sutra columns run --rank 5 -o out.arrow -q
echo "-- link"
sutra gen --events 300 --ranks 2 --host hosts --device devices -q
mkdir -p job/chakra job/torch_profile
for rank in 0 1; do
    gzip -c hosts/host.$rank.json >job/chakra/rank-$rank.json.gz
    gzip -c devices/device.$rank.json >job/torch_profile/rank-$rank.json.gz
done
sutra link hosts devices -o expected -q
sutra link job -o linked -q
for rank in 0 1; do cmp expected/rank.$rank.json linked/rank.$rank.json && echo "rank $rank as from two directories"; done
sutra link job --window all -o windows -q && ls windows windows/window-0
echo "-- roles"
mkdir roles
cp -r run/iteration_10 roles/trainer
cp -r run/iteration_20 roles/rollout
quiet analyze roles | grep -A 1 ROLE
quiet analyze roles --format json | grep '"role"\|"roles"'
quiet analyze roles --role trainer | head -n 1
sutra analyze roles -o out -q && ls out
for shard in 1/2 2/2; do sutra analyze roles --window all --format json --shard $shard -o shards -q; done
sutra analyze roles --window all --format json --combine -o shards -q >combined.json
sutra analyze roles --window all --format json -q | cmp - combined.json && echo "roles of shards as of one process"
try sutra analyze collectives roles -q
sutra merge roles -o merged.json -q
grep -o '"name": "[a-z]* rank [0-9]: CPU"' merged.json
mkdir jobs
sutra gen -n 1k --ranks 4 --ranks-per-host 2 --clock-offset-us 5000 --skew-us 100 --seed 1 --host hosts --device jobs/rollout -q
sutra gen -n 2k --ranks 4 --ranks-per-host 2 --clock-offset-us 5000 --skew-us 100 --seed 2 --host hosts --device jobs/trainer -q
for role in rollout trainer; do sutra merge jobs/$role -o $role.json -q; done
offsets() { cat "$@" | grep -o '"offset_us": [-0-9.]*'; }
sutra merge jobs -o merged.json 2>&1 | grep arrows
cat rollout.json trainer.json | grep -c '"ph": "s", .*"cat": "collective"'
[ "$(offsets merged.json)" = "$(offsets rollout.json trainer.json)" ] && echo "each role has its own clocks"
offsets merged.json | sort | uniq -c
echo "-- a flat directory"
cp run/iteration_10/rank0.json run/iteration_10/rank1.json .
quiet analyze run/iteration_10 --format json -q | grep '"run": {' || echo "no member run"

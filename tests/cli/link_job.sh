# A job in one command: the bytes of pairs that are linked one by one, only changed ranks, shards, and unmatched traces.
. "$TOOLS/common.sh"
job() {
    sutra gen -n 1k --ranks 4 --seed 3 --host hosts --device devices "$@" || exit 1
}
# same ENDING FOLDER [OPTIONS]: whether the ranks' files are those that single pairs give.
same() {
    ending=$1 folder=$2
    shift 2
    for rank in 0 1 2 3; do
        sutra link "hosts/host.$rank.json" "devices/device.$rank.json" -o "pair$ending" -q "$@" || exit 1
        cmp "pair$ending" "$folder/rank.$rank$ending" || exit 1
    done
    echo "the same bytes as pair by pair"
}
job
try sutra link hosts devices --dry-run
echo "--- all"
try sutra link hosts devices -o out
same .json out
ls out
echo "--- what is new or changed"
touch -d 2020-01-01 hosts/host.1.json
rm out/rank.2.json
try sutra link hosts devices -o out
try sutra link hosts devices -o out --no-sync
try sutra link hosts devices -o out --no-sync --relink
echo "--- for simulators, compressed, with little memory"
sutra link hosts devices -o et --format et --plain --memory 1M -q
same .et et --plain
cat et/comm_groups.json
sutra link hosts devices -o gz --format json.gz --threads 1 -q && gzip -dc gz/rank.3.json.gz | cmp - out/rank.3.json
sutra link hosts devices -o out -q && gzip -dc gz/rank.3.json.gz | cmp - out/rank.3.json && echo "the same"
echo "--- by a table, and in parts"
sutra link hosts devices --dry-run >table
sutra link --ranks table -o parts --shard 2/3
ls parts
try sutra link --combine -o parts
sutra link --ranks table -o parts --shard 1/3 && sutra link --ranks table -o parts --shard 3/3
try sutra link --combine -o parts
for rank in 0 1 2 3; do cmp out/rank.$rank.json parts/rank.$rank.json; done
touch -d 2021-01-01 devices/device.2.json
sutra link --ranks table -o parts --shard 3/4 --no-sync
sutra link --ranks table -o parts --shard 4/4
touch -d 2022-01-01 devices/device.2.json
try sutra link --combine -o parts
echo "--- one folder for both"
mkdir both && cp hosts/* devices/* both && sutra link both both -o one -q && diff -r -x .job -x job.json out one && echo same
echo "--- a broken rank"
head -c 5000 devices/device.1.json >cut && mv cut devices/device.1.json
try sutra link hosts devices -o out
ls out
job
try sutra link hosts devices -o out
echo "--- what does not fit"
mv devices/device.3.json devices/device.2.json
echo '{}' >hosts/notes.json
: >hosts/empty.json
ln -s nowhere hosts/lost.json
cp devices/device.0.json hosts
try sutra link hosts devices -o misfits
echo "--- usage"
touch file
for words in "hosts devices" "hosts file -o x" "hosts -o x" "hosts devices -o hosts" "hosts devices -o x --shard 4/3" \
    "hosts devices -o x --shard 1" "hosts devices --combine -o x" "--combine" "--combine -o none" "--ranks none -o x" \
    "--ranks table hosts -o x" "hosts devices -o x --stats s" "hosts devices -o x --gpu streams" "hosts devices -o none/x" \
    "hosts both -o x" "nowhere none --dry-run" "nowhere none -o x.json --format json.gz" "file file -o x.json --shard 1/2"; do
    try sutra link $words
done

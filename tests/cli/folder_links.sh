# Names from a job's directory, and symbolic links in a directory of results, never lead out of the directory: other
# files are neither written nor removed.
. "$TOOLS/common.sh"
need mkfifo
sutra gen -n 2k --ranks 2 --seed 1 --collectives --host h --device d || exit 1
sutra link h d -o json -q && sutra link h d -o et --format et --astra -q || exit 1

# fresh JOB: a copy of the job as `out`, and files outside that must stay as they are.
fresh() {
    rm -rf out victim && cp -R "$1" out && mkdir victim
    for name in file plan rank.0 rank.0.et job.json dir/file; do
        mkdir -p victim/dir && echo mine >"victim/$name"
    done
    cp -R victim kept
}
# outside: whether the files outside are as they were.
outside() {
    diff -r kept victim && echo "outside: unchanged"
    rm -rf kept
}

echo "--- the ending of the plan"
for ending in /../../victim/file .et/../../victim/file .etx .json.gz.gz et ''; do
    fresh et
    sed "s|^ending.*|ending\t$ending|" et/.job/plan >out/.job/plan
    try sutra link --combine -o out -q
    outside
done
for ending in .json.zst .et.gz; do
    fresh json
    sed "s|^ending.*|ending\t$ending|" json/.job/plan >out/.job/plan
    try sutra link --combine -o out -q
    outside
done

echo "--- links in place of files"
fresh et
for name in rank.0.et job.json comm_groups.json system.json .job/rank.0.met; do
    ln -sf "$PWD/victim/file" out/$name
done
try sutra link --combine -o out -q
outside
find out -type l
cmp out/rank.0.et et/rank.0.et
fresh json
ln -sf "$PWD/victim/file" out/rank.0.json
for name in plan rank.0; do
    ln -sf "$PWD/victim/$name" out/.job/$name
done
try sutra link h d -o out -q
outside
find out -type l
cmp out/rank.0.json json/rank.0.json

echo "--- a pipe in place of job.json"
fresh json
rm out/job.json && mkfifo out/job.json
try sutra link --combine -o out -q
cmp out/job.json json/job.json
outside

echo "--- a link in place of the folder of records"
fresh json
mv out/.job elsewhere && ln -s ../elsewhere out/.job
try sutra check out
try sutra link --combine -o out -q
try sutra link h d -o out -q
outside

echo "--- links in the folder of an analysis"
fresh json
mkdir res && ln -s "$PWD/victim" res/.parts
try sutra analyze hta d -o res --shard 1/2 -q
rm -r res && mkdir -p res/.parts && ln -s "$PWD/victim/file" res/.parts/0
ln -s "$PWD/victim" res/.parts/0.files && ln -s "$PWD/victim/dir" res/.parts/1.files
ln -s "$PWD/victim/file" res/rank_summary.csv
for part in 1/2 2/2; do
    sutra analyze dlrm d -o res --shard $part -q
done
ln -s "$PWD/victim" res/rank0
try sutra analyze dlrm d -o res --combine -q
outside
rm -rf res
cp -R json/.job/rank.0 before
mkdir res && ln -s "$PWD/before" res/rank_summary.csv
sutra analyze hta d -o res -q --no-report
cmp before json/.job/rank.0 && find res -type l

# A malformed file of DIR/.job is reported with its name and line, and nothing of it is used; linking again repairs it.
. "$TOOLS/common.sh"
need sed
sutra gen -n 2k --ranks 3 --seed 1 --host h --device d || exit 1
sutra link h d -o json -q || exit 1
sutra link h d -o et --format et -q || exit 1

# damage FILE SED...: what link --combine reports after the edit of FILE in a copy of the job, and the exit code of check.
damage() {
    file=$1
    shift
    echo "--- $file: $*"
    for job in json et; do
        rm -rf out && cp -R $job out
        sed "$@" <$job/.job/$file >out/.job/$file
        sutra link --combine -o out -q 2>err
        finished=$?
        sutra check out >checked 2>&1
        echo "$job: exit $finished, $?: $(sed -n "/$file/{s/byte [0-9]*, //; s/^sutra: //p}" err)"
    done
}
plan() { damage plan "$@"; }
rank() { damage rank.1 "$@"; }

plan 's/^pair\t1/pair/'
plan 's/^left/left/; s/^end/left\nend/'
plan 's/^pair\t1/pair\t-1/'
plan 's/^pair\t2/pair\t1/'
plan 's/^pair\t2/pair\t7/'
plan 's/^pair\t1/pair\t99999999999999999999/'
plan 's/^world\t3/world\t9223372036854775807/'
plan 's/^world\t3/world\t-3/'
plan '/^world/d'
plan 's/^world/word/'
plan '/^end/d'
plan '$!d;s/end/en/'
plan 's/^pair\t1/pair\t1\x00/'
rank 's/^group\t/group/'
rank 's/^group.*/group/'
rank 's/^group\t3/group\tx/'
rank '0,/^call/s/^call\t0/call\t1/'
rank '0,/^call/s/^call\t0/call\t-1/'
rank '0,/^call/s/^call.*/call/'
rank '0,/^call/s/^\(call.*\)/\1\t1\t2\t3\t4\t5\t6\t7/'
rank '0,/^call/s/^\(call\t0\t[a-z]*\t[A-Za-z]*\t[0-9]*\t[0-9]*\t[0-9]*\t-1\t\)[0-9]*/\19223372036854775807/'
rank '0,/^call/s/^call/cal/'
rank 's/^rank\t1/rank\t2/'
rank 's/^count\tn_nodes/count\tn_/'
rank 's/^seconds\t.*/seconds\tnan/'
rank 's/^devices\t3/devices\t3 /'
rank '/^host/d'
rank '/^end/d'
rank 's/^end/end\nend/'
rank '20q'
rank 's/^untold/un\x00told/'

echo "--- an empty record, a folder in its place, a pipe in its place"
for job in json et; do
    rm -rf out && cp -R $job out
    : >out/.job/rank.0
    rm out/.job/rank.1 && mkdir out/.job/rank.1
    rm out/.job/rank.2 && mkfifo out/.job/rank.2
    sutra link --combine -o out -q 2>&1
    echo "exit $?"
done

echo "--- what is not used of a damaged record"
rm -rf out && cp -R et out
sed 's/^end/end\nend/' <et/.job/rank.1 >out/.job/rank.1
sutra link --combine -o out -q 2>/dev/null
ls out
grep -c '"state": "not linked"' out/job.json

echo "--- linking again repairs the record"
for job in json et; do
    rm -rf out && cp -R $job out
    sed '0,/^call/s/^call\t0/call\t1/' <$job/.job/rank.1 >out/.job/rank.1
    sutra link h d -o out --format $job 2>&1 | grep 'linked before'
    cmp out/rank.1.$job $job/rank.1.$job && sutra check out
done

echo "--- a note of the second pass"
for text in '' x 'ffffffffffffffff 1' '99999999999999999999999999 99999999999999999999999'; do
    rm -rf out && cp -R et out
    printf '%s' "$text" >out/.job/rank.1.met
    echo old >out/rank.1.et
    sutra link --combine -o out -q
    echo "exit $?"
    cmp out/rank.1.et et/rank.1.et && cmp out/.job/rank.1.met et/.job/rank.1.met
done
rm -rf out && cp -R et out && rm out/.job/rank.1.met && mkfifo out/.job/rank.1.met
sutra link --combine -o out -q
echo "exit $?"
cmp out/.job/rank.1.met et/.job/rank.1.met

echo "--- a number of ranks that no loop may count to"
sed -i 's/"world_size": 3/"world_size": 999999999999999999/' d/*.json
try sutra link h d -o many -q
sed -i 's/"world_size": 999999999999999999/"world_size": 2147483647/' d/*.json
try sutra link h d -o most -q

echo "--- a table of ranks"
table() {
    printf "$1" >table
    try sutra link --ranks table --dry-run
}
table ''
table '0\th/host.0.json\td/device.0.json\n1\0\th/host.1.json\td/device.1.json\n'
table '99999999999999999999\th/host.0.json\td/device.0.json\n'
table '2147483647\th/host.0.json\td/device.0.json\n'
table '\th/host.0.json\td/device.0.json\n'
table '%%-1\th/host.0.json\td/device.0.json\n'
table '0\th/host.0.json\n'

# Analyses whose ranks several processes share with --shard: the files of one process; errors of missing, corrupt and
# different partial results.
. "$TOOLS/common.sh"
sutra gen -n 1k --ranks 5 --streams 3 --host h --device d
head -c 4000 d/device.4.json >x && mv x d/device.4.json
for what in "hta --hta-version 0.6" "hta --compat --no-series" "operators --rank 0 --rank 3" kernels "dlrm --compat" \
    "collectives --arrivals" "collectives --compat tracelens" "" "--table-format json --no-report" "--step 0"; do
    rm -rf one two
    sutra analyze $what d -o one -q 2>one.err
    sutra analyze $what d -o two -q --shard 1/2 || echo "exit $?"
    sutra analyze $what d -o two -q --shard 2/2 || echo "exit $?"
    ls -A two two/.parts | xargs
    sutra analyze $what d -o two -q --combine 2>two.err || echo "exit $?"
    diff -r one two && cmp one.err two.err && echo "${what:-overview}: the same"
done
echo "--- tasks of a Slurm array"
rm -rf one two
sutra analyze kernels d -o one -q 2>/dev/null
for id in 4 6 8; do
    SLURM_ARRAY_TASK_ID=$id SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=2 \
        sutra analyze kernels d -o two -q --shard slurm
done
sutra analyze kernels d -o two -q --combine 2>/dev/null
diff -r one two && echo "the same"
try sutra analyze kernels d -o two -q --shard slurm
SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=2 \
    try sutra analyze kernels d -o two -q --shard slurm
echo "--- what is missing"
sutra analyze hta d -o two -q --shard 2/2
try sutra analyze hta d -o two -q --combine
sutra analyze hta d -o two -q --shard 1/2
try sutra analyze hta d -o two -q --combine
ls -d two/.parts 2>/dev/null
echo "--- what has changed"
sutra analyze collectives d -o two -q --shard 1/1
touch -d 2020-01-01 d/device.1.json
try sutra analyze collectives d -o two -q --combine
sutra analyze collectives d -o two -q --shard 2/5
try sutra analyze collectives d -o two -q --combine
ls -d two/.parts 2>/dev/null
echo "--- what is wrong"
sutra analyze hta d -o two -q --shard 1/1
try sutra analyze hta d -o two -q --last-step --combine
try sutra analyze operators d -o two -q --combine
sutra analyze hta d -o two -q --shard 1/2
sutra analyze hta d -o two -q --shard 2/2
cp -r two kept
# refused N COMMAND...: the command damages part N of a copy.
refused() {
    rm -rf two
    cp -r kept two
    part=two/.parts/$1
    shift
    printf '%s\n' "$*"
    "$@"
    try sutra analyze hta d -o two -q --combine
}
# overwrite TEXT OFFSET
overwrite() {
    printf "$1" | dd of="$part" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# invert OFFSET: the byte there, which depends on the time of the traces if it is of the checksum.
invert() {
    overwrite "\\$(printf %o $((255 - $(od -An -tu1 -j "$1" -N 1 "$part"))))" "$1"
}
cut_to() {
    head -c "$1" "$part" >x
    mv x "$part"
}
swap_part() {
    cp two/.parts/0 "$part"
}
pack_zeros() {
    head -c 64M /dev/zero | gzip >"$part"
}
refused 1 cut_to 0
refused 1 cut_to 40
refused 3 cut_to 700
refused 0 overwrite X 0
refused 0 invert 8
refused 0 invert 12
refused 0 overwrite '9' 40
refused 2 invert 36
refused 2 invert 700
refused 2 swap_part
refused 2 pack_zeros
ls -A two/.parts | xargs
sutra analyze hta d -o two -q --shard 1/2
sutra analyze hta d -o two -q --shard 2/2
try sutra analyze hta d -o two -q --combine
try sutra analyze hta d --shard 1/2
try sutra analyze hta d -o two --shard 0/2
try sutra analyze hta d -o two --shard 1/2 --combine
try sutra analyze hta d -o two --shard 1/2 --write-counters json
# other ANALYSIS OPTION...: parts without the options.
other() {
    sutra analyze $1 d -o other -q --shard 1/1 2>/dev/null
    try sutra analyze $@ d -o other -q --combine
    rm -r other
}
other collectives --compat tracelens
other dlrm --compat
other "" -a step
try sutra analyze dlrm d/device.0.json -o other --shard 1/2

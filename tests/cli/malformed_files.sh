# Truncated and corrupt compressed files, unreadable inputs, outputs that cannot be written: one line, the exit code,
# and an unchanged old output.
. "$TOOLS/common.sh"
traces
echo old >out.json
fails() {
    sutra link "$1" "$2" -o "${3:-out.json}" -q 2>err
    echo "exit $?, $(wc -l <err) line: $(sed -E 's/[0-9]+/N/g' err)"
}
gzip -c host.json >whole.gz
for n in 5 20 2000; do
    head -c $n whole.gz >host.gz
    fails host.gz device.json
done
head -c -1 whole.gz >host.gz
fails host.gz device.json
{ head -c 3000 whole.gz; printf 'xxxx'; tail -c +3005 whole.gz; } >host.gz
fails host.gz device.json
cat whole.gz whole.gz >host.gz
fails host.gz device.json
gzip -c </dev/null >host.gz
fails host.gz device.json
if command -v zstd >/dev/null; then
    zstd -qc device.json >whole.zst
    for n in 5 20 2000; do
        head -c $n whole.zst >device.zst
        fails host.json device.zst
    done
    head -c -1 whole.zst >device.zst
    fails host.json device.zst
    cat whole.zst >device.zst
    printf 'more' >>device.zst
    fails host.json device.zst
fi >zstd_lines
grep -vc 'exit 65, 1 line: sutra: device.zst: the zstd data is corrupt or truncated' zstd_lines
fails /proc/self/mem device.json
fails host.json .
fails host.json /dev/null
fails host.json device.json missing/out.json
fails host.json device.json host.json/out.json
fails host.json device.json "$(printf 'x%.0s' $(seq 300))"
cat out.json
rm -f *.zst zstd_lines
ls
# Members one after the other are one file, and what is behind the last one is ignored, as gzip does.
{ head -c 1000 host.json | gzip -c; tail -c +1001 host.json | gzip -c; } >members.gz
sutra link host.json device.json -o one.json -q
sutra link members.gz device.json -o two.json -q && cmp one.json two.json
head -c 512 /dev/zero >>members.gz
sutra link members.gz device.json -o two.json -q && cmp one.json two.json

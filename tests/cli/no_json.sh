# Files that are no JSON are named by their format at once; inputs that are endless or decompress beyond memory end at a
# reported limit.
. "$TOOLS/common.sh"
need zstd
sh -c 'ulimit -v 150000 && sutra --version; exit $?' >/dev/null 2>&1 || skip "needs a program that runs in 150 MB, which a sanitizer's does not"
strange_traces
fails() {
    sutra link host.json "$1" -o out.json -q 2>err
    echo "exit $?: $(sed -E 's/[0-9.]+ MB/N MB/' err)"
}
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >lfs.json
printf '\n<!DOCTYPE html><html>' >page.json
printf '<?xml version="1.0"?><Error/>' >error.json
printf 'PK\003\004....' >archive.json
et_file >chakra.json
printf '\000\000\000\000' >zeros.json
printf '\177ELF\002' >program.json
echo 'ts,dur' >table.json
printf '{"traceEvents": []' >cut.json
for file in lfs page error archive chakra zeros program table cut; do
    fails $file.json
done
gzip -c lfs.json >lfs.gz
fails lfs.gz

echo "-- what is no JSON is not read to its end"
fails /dev/zero
head -c 200000000 /dev/zero | gzip -1 >zeros.gz
# Less memory than the zeros would take.
(ulimit -v 150000 && fails zeros.gz)
yes | sutra link host.json - -o out.json -q 2>&1

echo "-- a limit to what is held in memory"
limited() {
    (ulimit -v 300000 && fails "$1")
}
{ printf '{"traceEvents": ['; head -c 300000000 /dev/zero | tr '\0' ' '; } >spaces
cat spaces | limited -
gzip -1c spaces >spaces.gz
limited spaces.gz
zstd -qc spaces >spaces.zst
head -c 100000000 /dev/zero | zstd -qc >zeros.zst
limited spaces.zst
(ulimit -v 150000 && fails zeros.zst)

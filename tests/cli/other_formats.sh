# Files of formats that are no traces: each reader names the format, and the command or tool that reads the file.
. "$TOOLS/common.sh"
need python3
traces
python3 - <<'END'
import gzip, io, pickle, tarfile, zipfile
text = open("device.json").read()
snapshot = pickle.dumps({"segments": [], "device_traces": [[]]}, protocol=4)
files = {
    "memory.pickle": snapshot,
    "memory.pickle.gz": gzip.compress(snapshot),
    "old.pickle": pickle.dumps({"segments": []}, protocol=0),
    "old1.pickle": pickle.dumps({"segments": []}, protocol=1),
    "list.pickle": pickle.dumps([1], protocol=0),
    "utf16.json": text.encode("utf-16"),
    "utf16be.json": text.encode("utf-16-be"),
    "utf16le.json": text.encode("utf-16-le"),
    "utf32.json": text.encode("utf-32"),
    "events.parquet": b"PAR1\x15\x04",
    "events.feather": b"FEA1\0\0\0\0",
    "stream.arrow": b"\xff\xff\xff\xff\x70\0\0\0",
    "report.nsys-rep": b"\x05\x00\x00\x00NSYS",
    "twice.json.gz": gzip.compress(gzip.compress(text.encode())),
    "unknown.bin": b"\x93NUMPY\x01\x00",
    "snapshot.json": b'{"segments": [], "device_traces": []}',
}
for name, content in files.items():
    open(name, "wb").write(content)
for name, mode in ("traces.tar", "w"), ("traces.tar.gz", "w:gz"):
    with tarfile.open(name, mode) as archive:
        archive.add("device.json")
with zipfile.ZipFile("traces.zip", "w") as archive:
    archive.write("device.json")
END
sutra columns device.json -o events.arrow -q
for file in memory.pickle memory.pickle.gz old.pickle old1.pickle list.pickle traces.tar traces.tar.gz traces.zip utf16.json utf16be.json \
    utf16le.json utf32.json events.arrow stream.arrow events.parquet events.feather report.nsys-rep twice.json.gz unknown.bin snapshot.json; do
    try sutra analyze $file
done

echo "-- all commands that read traces"
et_file >rank.0.et
for command in 'link FILE device.json -o out.json' 'link host.json FILE -o out.json' 'info FILE' \
    'analyze operators FILE' 'analyze hta FILE -o out' 'analyze dlrm FILE -o out' 'analyze collectives FILE' 'analyze nsys FILE' \
    'critical-path FILE' 'diff FILE device.json' 'diff device.json FILE' 'tree FILE' 'correlate FILE' 'cut FILE' \
    'repair FILE' 'columns FILE -o out.arrow' 'merge FILE -o out.json' 'convert FILE -o out.et' \
    'check FILE -q' 'simulate FILE' 'jsonize FILE' 'draw FILE --collectives'; do
    for file in memory.pickle.gz traces.tar; do
        text=$(sutra $(echo "$command" | sed "s/FILE/$file/") 2>&1)
        code=$?
        case $text in
        *'found a pickle, as of a memory snapshot: use '*'sutra analyze memory FILE'* | *'found a tar archive: unpack it with '*) ;;
        *) [ "$command" = 'check FILE -q' ] || echo "sutra $command, $file: $text" ;;
        esac
        [ $code = 65 ] || echo "sutra $command, $file: exit $code"
    done
done
try sutra check memory.pickle
try sutra check traces.tar.gz

echo "-- a memory snapshot is expected"
gzip -k host.json
sutra link host.json device.json -o plus.json -q
echo '{"a": 1}' >some.json
echo 'epoch 1' >log.txt
for file in host.json.gz plus.json rank.0.et traces.tar.gz utf16.json some.json log.txt report.nsys-rep old.pickle; do
    try sutra analyze memory $file
done
echo "-- a report is expected"
for file in device.json host.json.gz report.nsys-rep log.txt; do
    try sutra analyze nsys $file
done
ls | grep '^out' || true

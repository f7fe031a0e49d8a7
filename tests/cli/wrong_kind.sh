# Files of another kind than the command reads: the error names the kind, and the command that reads the file.
. "$TOOLS/common.sh"
traces
et_file >rank.0.et
gzip -k rank.0.et
printf 'epoch 1 of 3\n' >log.txt
printf 'SQLite format 3\000....CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL' >nsys.sqlite
printf 'SQLite format 3\000....CREATE TABLE rocpd_kernel_dispatch' >rocpd.db
printf 'SQLite format 3\000....CREATE TABLE "rocpd_api"' >old.rpd
printf 'SQLite format 3\000....CREATE TABLE users' >other.db
for file in rank.0.et rank.0.et.gz log.txt; do
    try sutra analyze $file
done
for command in 'critical-path rank.0.et' 'link host.json rank.0.et -o out.json' 'link rank.0.et device.json -o out.json' \
    'repair rank.0.et -o out.json' 'repair log.txt -o out.json'; do
    try sutra $command
done
echo "-- an .et file is expected"
sutra link host.json device.json -o plus.json --quiet
sutra jsonize rank.0.et --lines >lines.json
for file in host.json device.json plus.json lines.json log.txt nsys.sqlite rocpd.db old.rpd other.db; do
    try sutra simulate $file
done
try sutra simulate device.json host.json
try sutra jsonize host.json
echo '{"a": 1}' >some.json
try sutra simulate some.json
sutra check device.json | head -1
try sutra convert lines.json -o again.et
# Bytes that begin as an .et file does, but are text.
printf 'h\n\nello\n' >text.txt
try sutra analyze text.txt

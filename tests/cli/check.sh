# Errors that would stop a simulator: in one file, in the files of a job, as text and as JSON.
. "$TOOLS/common.sh"
et_file >job.0.et
try sutra check job.0.et
try sutra check job.0.et -q
cp job.0.et job.1.et
try sutra check job.0.et job.1.et
echo "the same collective, of another size:"
et_file | sed 's/\o200\o010R/\o200\o020R/' >job.1.et
try sutra check job.0.et job.1.et
echo "damaged:"
head -c 150 job.0.et >cut.0.et
try sutra check cut.0.et
try sutra check cut.0.et -q
: >empty.0.et
try sutra check empty.0.et --json
echo "groups:"
echo '{"3": [0, 1]}' >groups.json
try sutra check job.0.et --groups groups.json --feeder v1 --roofline
try sutra check job.0.et --groups job.0.et
try sutra check
try sutra check job.0.et none.et
try sutra check job.0.et --feeder v2

# The contents of a Chakra file, recognized by its bytes: as text and as JSON, plain and compressed.
. "$TOOLS/common.sh"
et_file >trace
try sutra info trace
gzip trace
try sutra info trace.gz --json
gzip -dc trace.gz | head -c 100 >cut
try sutra info cut

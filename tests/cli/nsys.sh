# Reports of Nsight Systems: contents, summaries, conversion, ranks as paths, and errors.
. "$TOOLS/common.sh"
need python3
python3 - <<END || skip "needs Python's module sqlite3"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "$TOOLS/..")
import nsys_make
nsys_make.full("report.sqlite")
nsys_make.rocpd("rocpd.sqlite")
nsys_make.rpd("trace.rpd", schema=3)
nsys_make.rpd("empty.rpd", rows=False)
END
sutra info report.sqlite 2>&1 | grep -q 'reads no SQLite' && skip "built without SQLite"
sutra info report.sqlite
sutra info rocpd.sqlite --json
sutra info report.sqlite/rank1 | head -n 4
sutra info trace.rpd
echo "--- summaries"
quietly sutra analyze nsys report.sqlite -o tables
head -n 2 tables/*.csv
echo "--- conversion"
sutra convert report.sqlite -o both/ -q
ls both
sutra convert rocpd.sqlite -o - -q | head -n 3
sutra convert trace.rpd --rank 1 -o - -q | grep gemm
mkdir rpd
cp trace.rpd rpd
sutra analyze operators rpd 2>/dev/null | head -n 5
echo "--- errors"
try sutra convert report.sqlite -o one.json.gz
try sutra convert report.sqlite --rank 7 -o one.json.gz
try sutra convert report.sqlite --compat -o one.json.gz
try sutra convert report.sqlite -o one.et
try sutra critical-path report.sqlite -q
try sutra critical-path report.sqlite/rank9 -q
try sutra analyze nsys both/rank0.json.gz
try sutra analyze nsys both
try sutra info empty.rpd
try sutra analyze empty.rpd
: >profile.nsys-rep
echo report >profile.nsys-rep
try sutra convert profile.nsys-rep -o one.json.gz
try sutra analyze hta profile.nsys-rep
try sutra convert both/rank0.json.gz --rank 1 -o one.et
echo log >report.sqlite-wal
try sutra info report.sqlite

# golden_nsys.sh - tests that reports of Nsight Systems and rocprofv3 become the expected traces and tables: small
# databases with known contents, and random ones against direct implementations (nsys_check.py).
. tests/golden.sh
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
cd "$(dirname "$0")" || exit 70
python3 nsys_make.py "$work" || { echo "needs Python's module sqlite3"; exit 77; }
"$SUTRA" info "$work/full.sqlite" 2>&1 | grep -q 'reads no SQLite' && { echo "built without SQLite"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 check "facts and random databases" python3 nsys_check.py "$SUTRA" "$work"
finish

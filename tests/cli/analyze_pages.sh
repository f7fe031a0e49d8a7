# Pages of several analyses in one directory: each has its own name and links to the others in any order of the runs;
# pages of other programs are neither linked nor changed.
. "$TOOLS/common.sh"
analysis_trace
lists() {
    for page in pages/*.html; do
        echo "$page $(grep -o '<ul class="pages">.*</ul>' "$page" | grep -o '[a-z]*\.html' | tr '\n' ' ')"
    done
}
mkdir pages
echo 'of somebody else' >pages/operators.html
sutra analyze dlrm trace.json.gz -o pages -q 2>/dev/null
lists
sutra analyze trace.json.gz -o pages -q
sutra analyze kernels trace.json.gz -o pages -q
lists
sutra analyze operators trace.json.gz -o pages -q --print-path | head -n 1
rm pages/dlrm.html
mkfifo pages/dlrm.html
sutra analyze hta trace.json.gz -o pages -q
rm pages/dlrm.html
lists
chmod 444 pages/kernels.html
rm pages/operators.html
sutra analyze hta trace.json.gz -o pages -q
echo "exit $?"
lists
cp pages/report.html before.html
sutra diff trace.json.gz trace.json.gz -o beside -q
grep -c '<ul class="pages">' beside/report.html
sutra analyze hta trace.json.gz -o pages -q
cmp before.html pages/report.html

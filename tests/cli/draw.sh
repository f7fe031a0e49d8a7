# A part of a Chakra file as a drawing: for Graphviz, as GraphML, and as SVG if Graphviz is installed.
. "$TOOLS/common.sh"
et_file | sed 's/aten::mm/a"\\<m>\&n/' >job.0.et
try sutra draw job.0.et --around 2 --depth 1
try sutra draw job.0.et --around 1 --depth 0 -q
try sutra draw job.0.et --collectives --format graphml -q
sutra draw job.0.et -n 1 -o part.graphml -q
grep -c '<node' part.graphml
echo "without Graphviz:"
ln -s "$(command -v sutra)" sutra
(PATH=/nowhere; try ./sutra draw job.0.et -n 1 -o part.svg)
echo "what is wrong:"
try sutra draw job.0.et --around 3
try sutra draw job.0.et
try sutra draw job.0.et --around 1 --collectives
try sutra draw
try sutra draw job.0.et -n 1 -o job.0.et
ls

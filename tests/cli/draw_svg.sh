# Graphviz draws a file as SVG, which is written atomically; no other file remains.
. "$TOOLS/common.sh"
need dot
et_file | sed 's/aten::mm/a"\\<m>\&n/' >job.0.et
mkdir tmp
export TMPDIR=$PWD/tmp
try sutra draw job.0.et --around 2 -o part.svg
grep -o '<title>.*</title>' part.svg
grep -c 'a&quot;\\&lt;m&gt;&amp;n' part.svg
sutra draw job.0.et --collectives --format svg -q | grep -c '<svg'
try sutra draw job.0.et --around 9 -o other.svg
sutra draw job.0.et --around 2 -o none/part.svg -q 2>err
echo "exit $?, $(wc -l <err) line"
ls -A . tmp
echo "-- what a killed run leaves is hidden, and gone with the next one; an interrupted one leaves nothing"
mkdir fake
rm part.svg err
for signal in KILL TERM; do
    printf '#!/bin/sh\n[ "$1" = -V ] || { echo "<svg"; exec >/dev/null; kill -%s $PPID; cat; }\n' $signal >fake/dot
    chmod +x fake/dot
    (PATH=$PWD/fake:$PATH exec sutra draw job.0.et --around 2 -o part.svg -q) 2>err
    echo "$signal $?: $(ls -d part* 2>/dev/null) $(ls -A tmp)"
    [ $signal = KILL ] || ls -d .part* 2>/dev/null
    sutra draw job.0.et --around 2 -o part.svg -q
    ls -A . tmp
    rm part.svg
done

# Wrong command lines: one line that names the error and the probable meaning; exit 64.
. "$TOOLS/common.sh"
try sutra
try sutra lnik
try sutra halp
try sutra zzzzzz
touch trace.json
try sutra trace.json
try sutra help lnk
try sutra --frob
try sutra link --treads 3
try sutra link --thraeds=3
try sutra link --zzzzzz
try sutra link --outputs=x
try sutra link --chakra x
try sutra link -x
try sutra link -qz
try sutra link h d -o
try sutra link h d --output-file=
try sutra link h d --quiet=yes -o x
try sutra link h d -o x --threads 257
try sutra link h d -o x --threads=-1
try sutra link h d -o x -T 99999999999999999999
try sutra link h d -o x -T ''
try sutra link h d -o x --device gpu
try sutra link h d -o x --log-level LOUD
try chakra_trace_link --rank 0 --log-level LOUD
try sutra link h d -o x -q -v
try sutra link h d -o x --strict --lenient
try sutra link h d e -o x
try sutra link h d --chakra-host-trace h2 -o x
try sutra link h -o x
try sutra link -o x
try sutra link h d
try sutra link - - -o x
try sutra link h '' -o x
try sutra info
try sutra info a b
try sutra gen --events 1 --host h
try sutra gen --events 1 --device d
try sutra gen --host h --device d
try sutra gen --events 0 --host h --device d
try sutra gen --events 1 --host h --device ./h
try sutra gen --events 1 --host h --device d --shape round
try sutra completion
try sutra completion tcsh
try sutra man extra
ls

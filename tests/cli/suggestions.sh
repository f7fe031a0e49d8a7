# Unknown commands, options and values: the nearest one is suggested, if one is near.
. "$TOOLS/common.sh"
try sutra help anal
try sutra help analyze collectivs
try sutra help wrapup
try sutra crit
try sutra analyze hat
try sutra --verion
try sutra --vers
try sutra --zzz
try sutra -x
try sutra analyze --outptu dir
try sutra analyze hta x --format csv
try sutra link h d -o x --device gpu
try sutra link h d -o x --device zzz
try sutra simulate h --format jsn
try sutra gen --events 1 --host h --device d --shape nestd
try sutra completion fsh
try sutra completion tcsh

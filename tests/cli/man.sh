# The manual page is sound roff and has every option and exit code, and each command once.
. "$TOOLS/common.sh"
need groff
sutra man >sutra.1
groff -ww -man -z -Kutf8 sutra.1
groff -man -Tutf8 -Kutf8 -P-cbou sutra.1 >text
for name in $(sutra --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    for option in $(sutra help $name | sed -n '/^Options:/,/^$/s/^ *\(-[a-zA-Z], \)*\(--[a-z-]*\).*/\2/p'); do
        grep -q -e "$option" text || echo "lacks $option of $name"
    done
done
grep '^\.SS' sutra.1 | sort | uniq -d
for code in $(sutra --help | sed -n '/^Exit codes:/,/^$/s/^ *\([0-9]*\)  .*/\1/p'); do
    grep -q "^ *$code\b" text || echo "lacks exit code $code"
done
grep '^[A-Z]' text | sed 's/  */ /g; s/ [0-9]*\.[0-9.]* / VERSION /'

# Each command has a manual page in valid roff; sutra(1) lists all pages once, with their summaries, and all exit codes.
. "$TOOLS/common.sh"
need groff
sutra man --list >list
while read -r page name; do
    sutra man $name >page.1
    groff -ww -man -z -Kutf8 page.1
    groff -man -Tutf8 -Kutf8 -P-cbou page.1 >text
    sed -n "/^NAME/{n; s/^ *//p; q}" text
    [ "$page" = sutra ] && mv text program && mv page.1 program.1 && continue
    [ $(grep -c "^\.BR $(echo "$page" | sed 's/-/\\\\-/g') (1)" program.1) = 1 ] || echo "sutra(1) does not list $page once"
done <list
grep --no-group-separator '^[A-Z]\|^ *sutra-link(1)' -A 1 program | sed 's/  */ /g; s/ [0-9]*\.[0-9.]* / VERSION /'
for code in $(sutra help exit-codes | sed 's/^ *\([0-9]*\)  .*/\1/'); do
    grep -q "^ *$code\b" program || echo "lacks exit code $code"
done
sutra man link >page.1
groff -man -Tutf8 -Kutf8 -P-cbou page.1 | grep '^[A-Z]\|^   [A-Z]'
try sutra man lnik
try sutra man link extra
try sutra man analyze hta extra

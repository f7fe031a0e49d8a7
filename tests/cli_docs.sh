#!/usr/bin/env bash
# cli_docs - what the pages in Markdown point to is there: files and headings behind relative links, commands and options
# of the program in examples, folders in the list of floors, in the order that tests/house.py wants.
set -uo pipefail
[ -n "${SUTRA-}" ] || { echo "the program was not built" && exit 77; }

failed=0
fail() { echo "$1" && failed=1; }

mapfile -t pages < <(find . -name '*.md' -not -path './build*' -not -path './.*/*' | sort)

# anchors PAGE: of its headings, as they appear behind # in links
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

# links PAGE: targets of its links and pictures that lead to no other site
links() { grep -o '\](\([^)]*\))' "$1" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:'; }

for page in "${pages[@]}"; do
    while read -r link; do
        file=$page
        [ "${link%%#*}" = "" ] || file=$(dirname "$page")/${link%%#*}
        [ -e "$file" ] || fail "$page: there is no $link"
        case $link in
        *#*) anchors "$file" | grep -qxe "${link#*#}" || fail "$page: there is no heading for $link" ;;
        esac
    done < <(links "$page")
done

# examples PAGE: what follows the program's name in code, one use a line; a line of a block counts from its beginning
examples() {
    awk '/^```/ { block = !block; next }
        block { if (match($0, /^(\$ )?(build\/)?sutra [a-z]/)) print substr($0, RSTART + RLENGTH - 1); next }
        { while (match($0, /`sutra [a-z][^`]*`/)) {
              print substr($0, RSTART + 7, RLENGTH - 8)
              $0 = substr($0, RSTART + RLENGTH) } }' "$1" | sed 's/[|#].*//'
}

# help_of WORD...: the help of the command that the words begin with, at first of two words
help_of() { "$SUTRA" help "$1" "${2-}" 2>/dev/null || "$SUTRA" help "$1" 2>/dev/null; }

for page in "${pages[@]}"; do
    while read -r -a words; do
        text=$(help_of "${words[@]}") || fail "$page: there is no command '${words[0]}'"
        for word in "${words[@]}"; do
            [[ $word =~ ^--?[a-z] ]] || continue
            grep -qE -e "(^|[ ,])$word([ ,]|$)" <<<"$text" || fail "$page: ${words[0]} has no option $word"
        done
    done < <(examples "$page")
done

# The first column of the list, each name ending in a slash, against the rooms of host/.
told=$(sed -n '/^## Floors/,/^## [^F]/p' docs/architecture.md | grep '^| `' | cut -d'|' -f2 | grep -o '[a-z_]*/')
meant=$(sed -n '/^FLOORS/,/^]/p' tests/house.py | grep -o '"[a-z_/]*"' | tr -d '"' | grep -v -e / -e cuda | sed 's,$,/,')
[ "$told" = "$meant" ] || fail "docs/architecture.md and tests/house.py have other floors: $(diff <(echo "$told") <(echo "$meant"))"

[ "$failed" -eq 0 ] && echo "${#pages[@]} pages"
exit "$failed"

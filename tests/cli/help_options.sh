# Each option of a command is described or named in the help of the command; common options are described once.
. "$TOOLS/common.sh"
sutra help options
sutra help options | sed -n 's/^ *\(-[a-zA-Z], \)*\(--[a-z-]*\).*/\2/p' >common
sutra man --list | sed 1d | while read -r page name; do
    sutra help $name >text
    # Descriptions begin at column 33, so that other lines with options are not matched.
    sed -n '/^Examples:/,$d; s/^  \(-[a-zA-Z], \|    \)--\([a-z0-9_-]*\).*/--\2/p' text >described
    sed -n '/^\(More options\|Selection of .*\|Common options\): --/,/^$/p' text | grep -o -e '--[a-z0-9_-]*' >named
    options_of "$name" | sort >all
    sort described named | diff - all >difference || { echo "$page:" && cat difference; }
    sed -n '/^\(Selection of .*\|Common options\): --/,/^$/p' text | grep -o -e '--[a-z0-9-]*' |
        grep -vxF -f common && echo "$page: not described by 'sutra help options'"
    [ $(wc -l <described) -le 14 ] || echo "$page: $(wc -l <described) options are described"
done

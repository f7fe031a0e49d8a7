# The bash completion is valid, and completes commands, options and values: options after any number of operands.
. "$TOOLS/common.sh"
need bash
need script
sutra completion bash >script
bash -n script || exit 1
# complete_words WORD...: the completions of the last word; bash splits --option=VALUE into three words.
cat >complete_words <<'END'
compopt() { default="$*"; }
. ../script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sutra
printf '%s\n' "${COMPREPLY[@]}"
case "$default" in
"") echo "and files" ;;
"-o filenames") echo "with files" ;;
esac
END
complete() { bash ../complete_words "$@" | tr '\n' ' ' | sed 's/^ //'; echo; }
mkdir files && cd files && touch hta_trace.json
complete sutra ''
complete sutra l
complete sutra --v
complete sutra link --device ''
complete sutra link --device = ''
complete sutra link --device = c
complete sutra link --device =
complete sutra link h d -o ''
complete sutra link h d --threads ''
complete sutra link --no
complete sutra analyze ''
complete sutra analyze h
complete sutra analyze trace.json ''
complete sutra analyze trace.json --det
complete sutra analyze a.json b.json c.json --format ''
complete sutra analyze hta a.json b.json --table-format ''
complete sutra analyze hta a.json b.json -d ''
complete sutra critical-path a.json --rules ''
complete sutra help ''
complete sutra help analyze ''
complete sutra help link ''
complete sutra man an
complete sutra man analyze o
complete sutra completion ''
complete sutra devices ''
complete chakra_trace_link --log-level W
complete /usr/bin/chakra_trace_link --out
for name in link info critical-path tree correlate convert "analyze hta" gen help completion man; do
    options_of "$name" | sort >expected
    bash ../complete_words sutra $name -- | grep '^--' | sort | diff expected - && echo "$name: all options"
done

echo "at a terminal:"
# at_terminal KEYS: an interactive bash prints the words of the line that it completed.
at_terminal() {
    printf ". ../script\n%b\001printf '<%%s>' \005\nexit\n" "$1" | TERM=dumb script -qec 'bash --norc --noprofile -i' /dev/null |
        tr -d '\r' | sed -n 's/.*\(<sutra>.*>\).*/\1/p' | tail -n 1
}
at_terminal 'sutra crit\t'
at_terminal 'sutra analyze hta_t\t--det\t'
at_terminal 'sutra analyze hta hta_t\t--table-format=ar\t'
at_terminal 'sutra link a b --device cu\t'
at_terminal 'sutra help analyze nsy\t'

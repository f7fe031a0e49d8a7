# The bash completion is valid, offers the commands, and for each command all of its options.
. "$TOOLS/common.sh"
need bash
sutra completion bash >script
bash -n script || exit 1
cat >complete <<'END'
. ./script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sutra
printf '%s\n' "${COMPREPLY[@]}"
END
complete() { bash ./complete "$@" | tr '\n' ' '; echo; }
complete sutra ''
complete sutra l
complete sutra link --device ''
complete chakra_trace_link --log-level W
complete sutra link h d -o ''
complete sutra link --no
complete sutra help ''
complete sutra completion ''
complete /usr/bin/chakra_trace_link --out
for name in link info critical-path tree correlate convert "analyze hta" gen help completion man; do
    options_of "$name" | sort >expected
    bash ./complete sutra $name -- | grep '^--' | sort | diff expected - && echo "$name: $(wc -l <expected) options"
done

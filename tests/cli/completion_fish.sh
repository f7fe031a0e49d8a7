# The fish completion is valid, and completes commands, options and values: options after any number of operands.
. "$TOOLS/common.sh"
need fish
sutra completion fish >sutra.fish
fish -n sutra.fish || exit 1
complete() {
    echo "$1: $(HOME=$PWD fish --no-config -c 'source ../sutra.fish; complete -C $argv[1]' "$1" | sed 's/\t.*//' | sort | tr '\n' ' ')"
}
mkdir files && cd files && touch hta_trace.json
complete 'sutra '
complete 'sutra --'
complete 'sutra link --device '
complete 'sutra link --device='
complete 'sutra analyze '
complete 'sutra analyze hta_trace.json '
complete 'sutra analyze hta_trace.json --'
complete 'sutra analyze hta_trace.json hta_trace.json --format '
complete 'sutra analyze hta hta_trace.json --table-format='
complete 'sutra analyze hta hta_trace.json -d '
complete 'sutra critical-path hta_trace.json --rules '
complete 'sutra help '
complete 'sutra help analyze '
complete 'sutra help link '
complete 'sutra man analyze '
complete 'sutra completion '
complete 'sutra devices '
complete 'chakra_trace_link --log-level '

# The zsh completion is valid, and completes commands, options and values: options after any number of operands.
. "$TOOLS/common.sh"
need zsh
sutra completion zsh >_sutra
zsh -n _sutra || exit 1
# An interactive zsh in a pseudo-terminal completes its first argument, and prints the words between two lines with NUL.
cat >complete_line.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT= RPROMPT=; autoload -U compinit; compinit -u -D; source ../_sutra; bindkey '^I' complete-word
zstyle ':completion:*' list-grouped false; zstyle ':completion:*' insert-tab false
null-line() { print -r -- \$'\\0' }
compprefuncs=(null-line); comppostfuncs=(null-line exit)
compadd() {
    local -a hits
    [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd \"\$@\"; return }
    builtin compadd -A hits \"\$@\"
    (( \$#hits )) && print -rl -- \$hits
}
echo ready"
while zpty -r z line; do [[ $line == ready* ]] && break; done
zpty -w z "$1"$'\t'
while zpty -r z line; do print -r -- "$line"; done
END
complete() {
    echo "$1: $(TERM=dumb zsh -f ../complete_line.zsh "$1" | tr -d '\r' | tr '\000' '@' | sed -n '/@$/,/^@$/{/@$/d; /^$/d; p}' | sort | tr '\n' ' ')"
}
mkdir files && cd files && touch hta_trace.json
complete 'sutra '
complete 'sutra --'
complete 'sutra link --device '
complete 'sutra link --device='
complete 'sutra link h d --astra '
complete 'sutra analyze '
complete 'sutra analyze hta_trace.json '
complete 'sutra analyze hta_trace.json --'
complete 'sutra analyze hta_trace.json hta_trace.json --format '
complete 'sutra analyze hta hta_trace.json --table-format='
complete 'sutra analyze hta hta_trace.json -d '
complete 'sutra critical-path hta_trace.json --rules '
complete 'sutra simulate x --scale '
complete 'sutra help '
complete 'sutra help analyze '
complete 'sutra man analyze '
complete 'sutra completion '
complete 'chakra_trace_link --log-level '

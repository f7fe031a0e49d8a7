# The zsh and fish completions know every option of every command.
. "$TOOLS/common.sh"
sutra completion zsh >script.zsh && sutra completion fish >script.fish
for name in link info critical-path tree correlate "analyze hta" gen devices help completion man; do
    for option in $(options_of "$name" | sed 's/^--//'); do
        sed -n "/^    \"\{0,1\}$name\"\{0,1\})/,/;;/p" script.zsh | grep -q -e "'--$option\[" || echo "zsh: $name lacks --$option"
        grep -q -e "_from ${name##* }' -l $option " script.fish || echo "fish: $name lacks --$option"
    done
done

# The zsh and fish completions know every option of every command.
. "$TOOLS/common.sh"
sutra completion zsh >script.zsh && sutra completion fish >script.fish
sutra man --list | sed '1d; /^sutra/!d' | while read -r page name; do
    sed -n "/^    \"\{0,1\}$name\"\{0,1\})/,/;;/p" script.zsh >zsh
    grep "__sutra_is \"$name\"'" script.fish >fish
    for option in $(options_of "$name"); do
        grep -q -e "'\*\{0,1\}$option=\{0,1\}\[" zsh || echo "zsh: $name lacks $option"
        grep -q -e " -l ${option#--} " fish || echo "fish: $name lacks $option"
    done
done

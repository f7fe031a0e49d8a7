# The zsh and fish completions are valid scripts.
. "$TOOLS/common.sh"
sutra completion zsh >script.zsh && sutra completion fish >script.fish || exit 1
command -v zsh >/dev/null || command -v fish >/dev/null || skip "needs zsh or fish"
if command -v zsh >/dev/null; then zsh -n script.zsh || exit 1; fi
if command -v fish >/dev/null; then fish -n script.fish || exit 1; fi
echo "valid"

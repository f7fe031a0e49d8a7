# Standard output that is full or closed early is an error.
. "$TOOLS/common.sh"
[ -e /dev/full ] || skip "needs /dev/full"
sutra --help >/dev/full
echo "exit $?"
sutra man >/dev/full
echo "exit $?"
sutra completion zsh >/dev/full
echo "exit $?"

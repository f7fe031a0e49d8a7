# A bar on a terminal for what takes more than half a second, cleared at the end; never elsewhere, nor with --quiet.
. "$TOOLS/common.sh"
need script
script -qec true /dev/null >/dev/null 2>&1 || skip "needs a pseudo-terminal"
traces
cat >slow <<'END'
(sleep 0.7; cat host.json) | sutra link - device.json -o out.json "$@"
END
bars() { tr '\r' '\n' | grep -c '\[[#.]*\] *[0-9]*%'; }
script -qec 'stty cols 100; sh slow' /dev/null >terminal
[ "$(bars <terminal)" -gt 0 ] && echo "a bar on a terminal"
printf '\r\033[Ksutra: ' >clear
grep -qF "$(cat clear)" terminal && echo "cleared before the next line"
tr '\r' '\n' <terminal | grep '%$' | sed 's/\x1b\[K//' | awk 'length > 99 { print "too wide: " $0 }'
script -qec 'stty cols 24; sh slow' /dev/null | tr '\r' '\n' | grep '%$' | sed 's/\x1b\[K//' |
    awk 'length > 23 { print "too wide: " $0 }'
echo "quiet: $(script -qec 'sh slow -q' /dev/null | bars)"
echo "fast: $(script -qec 'sutra link host.json device.json -o out.json' /dev/null | bars)"
echo "no terminal: $(sh slow 2>&1 | bars)"

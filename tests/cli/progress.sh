# Progress bar on a terminal: after half a second, one for all stages, ascending, cleared at the end; not in pipes, with
# --quiet, or on a terminal that cannot overwrite a line.
. "$TOOLS/common.sh"
need script
script -qec true /dev/null >/dev/null 2>&1 || skip "needs a pseudo-terminal"
TERM=xterm
export TERM
traces
mkfifo device.fifo
cat >slow <<'END'
(sleep 0.7; cat device.json) >device.fifo &
(sleep 0.7; cat host.json) | sutra link - device.fifo -o out.json "$@"
wait
END
cat >fast <<'END'
sutra link host.json device.json -o out.json
END
percents() { tr '\r' '\n' | sed -n 's/.*\[[#.]*\] *\([0-9]*\)%.*: [a-z ]*trace.*/\1/p; s/.*\[[#.]*\] *\([0-9]*\)%.*/\1/p'; }
bars() { percents | wc -l; }
script -qec 'stty cols 100; sh slow' /dev/null >terminal
[ "$(bars <terminal)" -gt 0 ] && echo "a bar on a terminal"
printf '\r\033[Ksutra: ' >clear
grep -qF "$(cat clear)" terminal && echo "cleared before the next line"
lines() { tr '\r' '\n' | grep '[0-9]%' | sed 's/\x1b\[K//'; }
lines <terminal | awk 'length > 99 { print "too wide: " $0 }'
percents <terminal | awk '$1 < last { print "back to " $1 } { last = $1 }'
cat >slower <<'END'
(head -c 3000 device.json; sleep 0.7; tail -c +3001 device.json; sleep 0.7) >device.fifo &
(head -c 3000 host.json; sleep 0.7; tail -c +3001 host.json) | sutra link - device.fifo -o out.json
wait
END
script -qec 'stty cols 100; sh slower' /dev/null | lines | grep 'device trace' | tail -n 1 | percents |
    awk '$1 >= 15 { print "the host trace counts when the device trace is read" }'
script -qec 'stty cols 24; sh slow' /dev/null | lines | awk 'length > 23 { print "too wide: " $0 }'
echo "quiet: $(script -qec 'sh slow -q' /dev/null | bars)"
for attempt in 1 2 3 4 5; do # on a machine that does other things, a short link may take half a second
    n_bars=$(script -qec 'sh fast' /dev/null | bars)
    [ "$n_bars" != 0 ] || break
done
echo "fast: $n_bars"
echo "no terminal: $(sh slow 2>&1 | bars)"
echo "dumb: $(TERM=dumb script -qec 'sh slow' /dev/null | bars)"
echo "none: $(script -qec 'unset TERM; sh slow' /dev/null | bars)"

# A made-up pair, whose reader comes late.
cat >made <<'END'
(sleep 0.7; cat device.fifo >/dev/null) &
sutra gen --events 50k --host /dev/null --device device.fifo "$@"
wait
END
script -qec 'sh made' /dev/null >terminal
[ "$(bars <terminal)" -gt 0 ] && echo "a bar while traces are made up"
percents <terminal | awk '$1 < last { print "back to " $1 } { last = $1 }'
echo "quiet: $(script -qec 'sh made -q' /dev/null | bars)"

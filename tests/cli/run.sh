#!/bin/sh
# run.sh PROGRAM [NAME...] - runs the scripts of this folder (or those named) against the program.
#
# NAME.sh runs in an empty folder of its own, with `sutra` and `chakra_trace_link` first in the path, DATA naming the
# folder tests/data (or another, if it is set), and TOOLS this folder. Its standard output must be NAME.stdout, its standard error NAME.stderr (each
# empty where there is no such file), and it must exit with 0, or with 77 to say on standard error why it cannot run here.
# UPDATE=1 writes what came out as what is expected: read the difference before you commit it.
# Exits with 0 if all is as expected, 77 if nothing could run, else 1.
set -u
program=$(realpath "$1") || exit 64
shift
TOOLS=$(cd "$(dirname "$0")" && pwd)
DATA=${DATA:-$(dirname "$TOOLS")/data}
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/sutra"
ln -s "$program" "$work/bin/chakra_trace_link"
PATH=$work/bin:$PATH
LC_ALL=C.UTF-8
XDG_CONFIG_HOME=$work/cwd/config # no calibration of the user's changes what scripts print
export TOOLS DATA PATH LC_ALL XDG_CONFIG_HOME
unset COLUMNS MANWIDTH

# compare NAME STREAM: whether what came out is what is expected.
compare() {
    expected=$TOOLS/$1.$2
    if [ "${UPDATE:-}" ]; then
        if [ -s "$work/$2" ]; then cp "$work/$2" "$expected"; else rm -f "$expected"; fi
    fi
    [ -e "$expected" ] || expected=/dev/null
    diff -u --label "$1.$2, expected" --label "$1.$2" "$expected" "$work/$2"
}

# run_one NAME: prints a verdict; returns 0, 1 or 77.
run_one() {
    mkdir "$work/cwd"
    (cd "$work/cwd" && exec sh -u "$TOOLS/$1.sh") >"$work/stdout" 2>"$work/stderr" </dev/null
    code=$?
    rm -rf "$work/cwd"
    if [ $code = 77 ]; then
        echo "SKIPPED $1: $(cat "$work/stderr")"
        return 77
    fi
    bad=0
    compare "$1" stdout || bad=1
    compare "$1" stderr || bad=1
    [ $code = 0 ] || { echo "$1.sh exits with $code"; bad=1; }
    if [ $bad = 0 ]; then echo "ok      $1"; else echo "FAILED  $1"; fi
    return $bad
}

[ $# -gt 0 ] || set -- $(cd "$TOOLS" && ls *.sh | sed -n '/^run\.sh$/d; /^common\.sh$/d; s/\.sh$//p')
n_ok=0 n_skipped=0 n_failed=0
for name; do
    run_one "$name"
    case $? in
    0) n_ok=$((n_ok + 1)) ;;
    77) n_skipped=$((n_skipped + 1)) ;;
    *) n_failed=$((n_failed + 1)) ;;
    esac
done
echo "$n_ok ok, $n_skipped skipped, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_ok != 0 ] || exit 77

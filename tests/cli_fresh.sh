#!/usr/bin/env bash
# cli_fresh - tests/fresh checks its arguments and keeps folders that it did not make, before it needs root.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_failed=0
# exits STATUS PATTERN ARGUMENT...: tests/fresh exits with the status; its output contains the pattern
exits() {
    tests/fresh "${@:3}" >"$work/out" 2>&1 </dev/null
    local status=$?
    if [ $status != "$1" ] || ! grep -q "$2" "$work/out"; then
        echo "FAILED tests/fresh ${*:3}: exit $status" && cat "$work/out"
        n_failed=$((n_failed + 1))
    fi
}
exits 0 '^usage: tests/fresh' --help
exits 64 '^usage: tests/fresh'
exits 64 '^usage: tests/fresh' --suite sid "$work/new"
exits 64 '^usage: tests/fresh' --suite
exits 64 '^usage: tests/fresh' "$work/new" "$work/other"
exits 64 '^usage: tests/fresh' --user --no-tests
mkdir "$work/mine" && echo text >"$work/mine/file"
exits 73 'holds files that tests/fresh did not make' "$work/mine"
exits 73 'holds files that tests/fresh did not make' --suite trixie --quick "$work/mine/file"
exits 73 'holds files that tests/fresh did not make' --user --no-tests "$work/mine"
[ "$(cat "$work/mine/file")" = text ] || { echo "FAILED: the file is gone" && n_failed=1; }
echo "$n_failed failed"
[ $n_failed = 0 ]

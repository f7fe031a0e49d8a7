# golden.sh - functions of the golden tests; each test begins with: . tests/golden.sh
#
# Sets $work, a temporary directory that is removed at exit.
#
# Versions of the programs that wrote the expected files:
#
#     chakra_trace_link, chakra_converter   MLCommons Chakra 1.0.0 (21585d8) with PARAM 7b19f58, HTA d731cc2, pandas 2.2.2
#                                           and stable sorts; HTA 0.5.0 and pandas 2.3.3 give the same links
#     trace_link                            MLCommons Chakra 20f4504 with PARAM c42dd9e
#     HTA                                   Holistic Trace Analysis 0.5.0 and 0.6.1 with pandas 2 and stable sorts
#     TraceLens                             171dd747 with pandas 3.1 and numpy 2.4
# shellcheck shell=bash
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0

# failed WHAT...: reports and counts a failure.
failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# check WHAT COMMAND...: counts a check, which passes if the command succeeds.
check() {
    local what=$1
    shift
    n_checks=$((n_checks + 1))
    "$@" || failed "$what"
}

# near WHAT A B SHARE: counts a check; exits unless A differs from B, the expected number, by at most this share.
near() {
    awk -v a="$2" -v b="$3" -v share="$4" 'BEGIN { exit !(a > b * (1 - share) && a < b * (1 + share)) }' || {
        echo "FAILED $1: $2 us simulated, $3 us expected"
        exit 1
    }
    n_checks=$((n_checks + 1))
}

# finish [DATA]: prints the counts and exits: 1 after a failure, 77 if DATA contained no cases and no check ran.
finish() {
    [ $n_checks = 0 ] || printf '%s checks, ' $n_checks
    echo "$n_failed failed"
    [ $n_failed = 0 ] || exit 1
    [ $n_checks != 0 ] || [ -z "${1:-}" ] || { echo "no cases in $1"; exit 77; }
    exit 0
}

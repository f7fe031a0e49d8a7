#!/usr/bin/env bash
# check_exports.sh - says whether both libraries define exactly the symbols of a list.
# usage: check_exports.sh NM SHARED_LIBRARY STATIC_LIBRARY LIST
set -euo pipefail
export LC_ALL=C
nm=$1 shared=$2 static=$3 list=$4

# defined NM_OPTION LIBRARY: the names of the symbols that it defines for others
defined() {
    "$nm" "$1" --extern-only --defined-only "$2" | awk 'NF == 3 { print $3 }' | sort
}

status=0
for pair in "--dynamic $shared" "--no-sort $static"; do
    read -r option library <<<"$pair"
    if ! diff -u --label "$list" --label "$library" <(sort "$list") <(defined "$option" "$library"); then
        status=1
    fi
done
exit "$status"

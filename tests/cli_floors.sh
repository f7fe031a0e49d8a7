#!/usr/bin/env bash
# cli_floors - folders of host/ include only from folders that stand above them in docs/architecture.md, and all of them
# stand there.
set -uo pipefail
failed=0

# The folders in the order of the list: names in the first column of the rows behind the heading, each ending in a slash.
mapfile -t floors < <(sed -n '/^## Floors/,/^## [^F]/p' docs/architecture.md | grep '^| `' | cut -d'|' -f2 | grep -o '[a-z_]*/' | tr -d /)

declare -A height=()
for floor in "${floors[@]}"; do
    height[$floor]=${#height[@]}
done

for folder in host/*/; do
    name=$(basename "$folder")
    [ -n "${height[$name]-}" ] || { echo "host/$name is not in the list of floors" && failed=1; }
done

while IFS=: read -r file include; do
    from=${file#host/} from=${from%%/*}
    to=${include#*\"} to=${to%%/*}
    [ "${height[$to]-0}" -le "${height[$from]-0}" ] || { echo "$file includes from host/$to, which stands above it" && failed=1; }
done < <(grep -roE --include='*.[ch]' '^#include "[a-z_]+/' host)

[ "$failed" -eq 0 ] && echo "${#floors[@]} floors"
exit "$failed"

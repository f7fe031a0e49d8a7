#!/usr/bin/env bash
# cli_recipe_subcommand - the recipe "Subcommand" of docs/architecture.md, followed in a directory of its own, adds a
# command that works, and that help, manual page and completions list.
set -eu
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
recipe=$work/recipe.md tree=$work/tree cli=$work/tree/tests/cli
sed -n '/^### Subcommand$/,/^### Finding/p' docs/architecture.md >"$recipe"
mkdir -p "$tree/host/cli" "$cli"

# block LANGUAGE: the code block of the recipe in this language.
block() { sed -n '/^```'"$1"'$/,/^```$/{ /^```/!p; }' "$recipe"; }
# row FILE: the last code in the recipe's row on this file.
row() { sed -n 's/^| `'"${1//\//\\/}"'`.*`\(.*\)`[^`]*|$/\1/p' "$recipe"; }

block c >"$tree/host/cli/extent.c"
block sh >"$cli/extent.sh"
cp tests/cli/run.sh tests/cli/common.sh "$cli"
sed "/^extern const struct command \*const commands/i $(row host/cli/command.h)" host/cli/command.h >"$tree/host/cli/command.h"
sed "/^    &devices_command,/a \    $(row host/cli/commands.c)" host/cli/commands.c >"$tree/host/cli/commands.c"

bash tests/relink.sh "$SUTRA_BUILD" "$tree" "$work/sutra"
UPDATE=1 sh "$cli/run.sh" "$work/sutra" extent >/dev/null
diff - "$cli/extent.stdout" <<'END'
$ sutra extent device.json
1,000 events in 4.058 ms
exit 0
$ sutra extent -u device.json
1,000 events in 4058.429 us
exit 0
$ sutra extent
sutra: the trace is missing; see 'sutra extent --help'
exit 64
END

n_failed=0
# contains TEXT ARGUMENT...: the program prints a line with this text.
contains() {
    if ! "$work/sutra" "${@:2}" 2>&1 | grep -F -- "$1" >/dev/null; then
        echo "FAILED: '$1' is not in the output of sutra ${*:2}"
        n_failed=$((n_failed + 1))
    fi
}
contains '  extent         print the time range of a trace' help
contains '  -u, --microseconds  ' help extent
contains 'Common options: --threads, --help' help extent
contains '.TH SUTRA-EXTENT 1' man extent
contains '.BR sutra\-extent (1)' man
contains ' gen devices extent help man ' completion bash
contains 'extent[print the time range of a trace]' completion zsh
contains "extent -d 'print the time range of a trace'" completion fish
[ $n_failed = 0 ]

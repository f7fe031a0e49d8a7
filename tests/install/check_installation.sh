#!/usr/bin/env bash
# check_installation.sh - installs a build into a temporary folder, moves it elsewhere, and builds the client against it:
# by pkg-config and by CMake, with the shared and with the static library. Each client must print the version. The
# programs of docs/library.md are tested by tests/docs_blocks.py.
# usage: check_installation.sh BUILD_FOLDER C_COMPILER
set -euo pipefail
build=$1 cc=$2
client=$(cd "$(dirname "$0")/client" && pwd)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# The prefix is the second folder: what is found below was found from its own place.
cmake --install "$build" --prefix "$temporary/first" >/dev/null
mv "$temporary/first" "$temporary/prefix"
prefix=$temporary/prefix

for file in bin/sutra bin/chakra_trace_link include/sutra/sutra.h share/man/man1/sutra.1.gz \
    share/bash-completion/completions/sutra share/zsh/site-functions/_sutra share/fish/vendor_completions.d/sutra.fish; do
    [ -s "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
# Each installed program and each command has a manual page.
for page in $("$prefix/bin/sutra" man --list | sed 's/ .*//'); do
    gzip -t "$prefix/share/man/man1/$page.1.gz" || { echo "no manual page: $page"; exit 1; }
done
for program in "$prefix"/bin/*; do
    gzip -t "$prefix/share/man/man1/${program##*/}.1.gz" || { echo "no manual page: ${program##*/}"; exit 1; }
done
[ "$(readlink "$prefix/bin/chakra_trace_link")" = sutra ] || { echo "chakra_trace_link is not a link to sutra"; exit 1; }

pc=$(find "$prefix" -name sutra.pc)
export PKG_CONFIG_PATH=${pc%/*}
export LD_LIBRARY_PATH=${pc%/pkgconfig/*}
version=$(pkg-config --modversion sutra)

# says_version PROGRAM
says_version() {
    local said
    said=$("$1")
    [ "$said" = "$version" ] || { echo "$1 says '$said', not '$version'"; exit 1; }
}

# shellcheck disable=SC2046 # words are what pkg-config prints
"$cc" "$client/client.c" -o "$temporary/pc_shared" $(pkg-config --cflags --libs sutra)
# shellcheck disable=SC2046
"$cc" -static "$client/client.c" -o "$temporary/pc_static" $(pkg-config --static --cflags --libs sutra)
cmake -S "$client" -B "$temporary/client" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DSUTRA_VERSION="$version" >"$temporary/log" || { cat "$temporary/log"; exit 1; }
cmake --build "$temporary/client" >"$temporary/log" || { cat "$temporary/log"; exit 1; }

says_version "$temporary/pc_shared"
says_version "$temporary/client/client_shared"
unset LD_LIBRARY_PATH
says_version "$temporary/pc_static"
says_version "$temporary/client/client_static"

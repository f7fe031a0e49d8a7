#!/usr/bin/env bash
# relink.sh BUILD TREE PROGRAM - links PROGRAM as sutra is linked in the build directory BUILD, with the changes in TREE.
#
# TREE contains the new and changed files, each at its path in the repository (TREE/host/cli/new.c). Compiles its C files
# with the flags of BUILD; the other objects are those of BUILD, so the changes must not alter a struct that they use.
# Exits with 77 if BUILD was not configured for make.
set -eu
build=$(realpath "$1") tree=$(realpath "$2") program=$(realpath -m "$3")
cd "$build"
[ -e CMakeFiles/sutra.dir/link.txt ] || { echo "$build was not configured for make" && exit 77; }
link=$(cat CMakeFiles/sutra.dir/link.txt)
# With CUDA, files contain the lists of objects and libraries.
while [[ $link =~ @([^ ]+) ]]; do
    link=${link/"${BASH_REMATCH[0]}"/$(tr '\n' ' ' <"${BASH_REMATCH[1]}")}
done
# The command of main.c without its two file names, with the headers of TREE before those of the repository.
compile=$(sed -n 's|^ *"command": "\(.*\) -o [^ ]* -c [^ ]*/host/cli/main\.c",\{0,1\}$|\1|p' compile_commands.json |
    sed 's|\\\(.\)|\1|g; s| -I| -I"$tree/include" -I"$tree/host" -I"$tree" -I|')
objects=""
while IFS= read -r file; do
    eval "$compile"' -o "$tree/$file.o" -c "$tree/$file"'
    link=$(sed "s| [^ ]*\.dir/$file\.o | |" <<<"$link")
    objects+=" \"\$tree/$file.o\""
done < <(cd "$tree" && find host -name '*.c')
eval "${link/ -o sutra / -o \"\$program\"$objects }"

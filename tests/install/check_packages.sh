#!/usr/bin/env bash
# check_packages.sh - makes the Debian packages of a build and unpacks them: each has what it should, the program runs from
# there, and nothing in them names a folder of this machine.
# usage: check_packages.sh BUILD_FOLDER
set -euo pipefail
build=$1
for tool in dpkg-shlibdeps file; do
    command -v $tool >/dev/null || { echo "needs the program $tool" && exit 77; }
done
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export SOURCE_DATE_EPOCH=1700000000

(cd "$build" && umask 022 && cpack -B "$temporary" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >"$temporary/log" ||
    { cat "$temporary/log"; exit 1; }

packages="sutra libsutra0 libsutra-dev"
[ ! -e "$build/sutra-mpi" ] || packages+=" sutra-mpi"
for package in $packages; do
    file=$(echo "$temporary/${package}"_*.deb)
    dpkg-deb -x "$file" "$temporary/root"
    dpkg-deb -e "$file" "$temporary/$package"
    [ -s "$temporary/root/usr/share/doc/$package/copyright" ] || { echo "$package has no copyright"; exit 1; }
done
for file in bin/sutra lib/libsutra.so.0 lib/libsutra.a lib/pkgconfig/sutra.pc include/sutra/sutra.h share/man/man1/sutra.1.gz \
    share/bash-completion/completions/sutra share/zsh/vendor-completions/_sutra share/fish/vendor_completions.d/sutra.fish; do
    [ -s "$temporary/root/usr/$file" ] || { echo "not in the packages: $file"; exit 1; }
done
# The names of other programs are theirs: they come as alternatives.
[ ! -e "$temporary/root/usr/bin/chakra_trace_link" ] || { echo "chakra_trace_link is in a package"; exit 1; }
sh -n "$temporary/sutra/postinst"
sh -n "$temporary/sutra/prerm"
# Each command and each alternative has a manual page.
for page in $("$temporary/root/usr/bin/sutra" man --list | sed 's/ .*//; s/^chakra_\|^trace_/sutra.&/'); do
    gzip -t "$temporary/root/usr/share/man/man1/$page.1.gz" || { echo "no manual page: $page"; exit 1; }
done
# shellcheck disable=SC2016 # the package's script expands the name
grep -qF '"/usr/share/man/man1/$name.1.gz" "$name.1.gz" "/usr/share/man/man1/sutra.$name.1.gz"' "$temporary/sutra/postinst"
[ ! -e "$temporary/root/usr/share/zsh/site-functions" ] || { echo "Debian's zsh does not search site-functions"; exit 1; }
if [ -e "$build/sutra-mpi" ]; then
    grep -q '^Depends: sutra (= .*), .*lib\(openmpi\|mpich\)' "$temporary/sutra-mpi/control"
    for file in bin/sutra-mpi share/man/man1/sutra-mpi.1.gz; do
        [ -s "$temporary/root/usr/$file" ] || { echo "not in the packages: $file"; exit 1; }
    done
fi
grep -q 'libdeflate0.*libzstd1' "$temporary/sutra/control"
grep -qx 'activate-noawait ldconfig' "$temporary/libsutra0/triggers"
grep -qx "libsutra 0 libsutra0 (>= $(sed -n 's/^Version: //p' "$temporary/libsutra0/control"))" "$temporary/libsutra0/shlibs"
! grep -rlI "$build\|$PWD" "$temporary/root" || { echo "names folders of this machine"; exit 1; }
"$temporary/root/usr/bin/sutra" --version >/dev/null

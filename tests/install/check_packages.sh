#!/usr/bin/env bash
# check_packages.sh - makes the Debian packages of a build and unpacks them: each has what it should, the program runs from
# there, and nothing in them names a folder of this machine.
# usage: check_packages.sh BUILD_FOLDER
set -euo pipefail
build=$1
command -v dpkg-shlibdeps >/dev/null || { echo "there is no dpkg-dev" && exit 77; }
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export SOURCE_DATE_EPOCH=1700000000

(cd "$build" && umask 022 && cpack -B "$temporary" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >"$temporary/log" ||
    { cat "$temporary/log"; exit 1; }

for package in sutra libsutra0 libsutra-dev; do
    file=$(echo "$temporary/${package}"_*.deb)
    dpkg-deb -x "$file" "$temporary/root"
    dpkg-deb -e "$file" "$temporary/$package"
    [ -s "$temporary/root/usr/share/doc/$package/copyright" ] || { echo "$package has no copyright"; exit 1; }
done
for file in bin/sutra lib/libsutra.so.0 lib/libsutra.a lib/pkgconfig/sutra.pc include/sutra/sutra.h share/man/man1/sutra.1.gz; do
    [ -s "$temporary/root/usr/$file" ] || { echo "not in the packages: $file"; exit 1; }
done
# The names of other programs are theirs: they come as alternatives.
[ ! -e "$temporary/root/usr/bin/chakra_trace_link" ] || { echo "chakra_trace_link is in a package"; exit 1; }
sh -n "$temporary/sutra/postinst"
sh -n "$temporary/sutra/prerm"
grep -q 'libdeflate0.*libzstd1' "$temporary/sutra/control"
grep -qx 'activate-noawait ldconfig' "$temporary/libsutra0/triggers"
grep -qx "libsutra 0 libsutra0 (>= $(sed -n 's/^Version: //p' "$temporary/libsutra0/control"))" "$temporary/libsutra0/shlibs"
! grep -rlI "$build\|$PWD" "$temporary/root" || { echo "names folders of this machine"; exit 1; }
"$temporary/root/usr/bin/sutra" --version >/dev/null

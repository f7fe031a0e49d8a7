#!/usr/bin/env bash
# cli_dependencies - on a system without apt-get and without libraries, host/quickstart and tests/run list the missing
# dependencies and exit with 69 before they configure a build; so does packages/build, which without git uses the time of
# CHANGELOG.md. tests/run exits with 69 if the disk is too small. host/quickstart reports the progress of its build, and
# prints the build's output if it fails. CMake finds a C++ compiler that was installed after the first configuration.
# `pip install .` lists missing dependencies in one message, and builds the CUDA engine only on request.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_failed=0
failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

mkdir "$work/bin" "$work/tree"
tar -c --exclude='*.[ch]' host tests/run packages/build CHANGELOG.md | tar -xC "$work/tree"
for tool in bash cat cut date df dirname du env grep id mkdir mktemp nproc readlink rm sed sort stat tr; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool"
done
printf '#!/bin/sh\necho cmake version 3.22.1\n' >"$work/bin/cmake"
chmod +x "$work/bin/cmake"

# lists COMMAND NAME...: the command exits with 69 and lists the names
lists() {
    local command=$1 name status
    PATH=$work/bin "$work/tree/$command" >"$work/out" 2>&1 </dev/null
    status=$?
    [ $status = 69 ] || failed "$command exits with $status"
    for name in "${@:2}"; do
        grep -qxF "  $name" "$work/out" || failed "$command does not list $name"
    done
    grep -qxF "missing dependencies: install them and run $command again" "$work/out" || failed "$command: no message"
    [ $n_failed = 0 ] || cat "$work/out"
}
build_needs=("gcc or clang, headers of the C library" "GNU make" "cmake >= 3.25" "pkg-config or pkgconf"
    "libdeflate (pkg-config: libdeflate)" "zstd, the library (pkg-config: libzstd)")
lists host/quickstart "${build_needs[@]}"
lists tests/run "${build_needs[@]}" clang cppcheck "cmocka (pkg-config: cmocka)" "Python >= 3.11"
tail -n 1 "$work/out" | grep -qx '0 passed, 1 failed, 0 skipped' || failed "tests/run does not count"
touch -d @1700000000 "$work/tree/CHANGELOG.md"
lists packages/build "${build_needs[@]}" dpkg-dev "Open MPI" "libsqlite3.a, the static library"
grep -qF "using the time of CHANGELOG.md (2023-11-14T22:13:20Z)" "$work/out" || failed "packages/build: no time: $(cat "$work/out")"

mkdir "$work/small"
printf '#!/bin/sh\necho header; echo "/dev/sda 99999999 97777777 2222222 98%% /"\n' >"$work/small/df"
chmod +x "$work/small/df"
PATH=$work/small:$work/bin "$work/tree/tests/run" >"$work/out" 2>&1 </dev/null && failed "tests/run succeeds on a small disk"
grep -q '^tests/run: .* GB of disk needed, 2\.2 GB free: ' "$work/out" && tail -n 1 "$work/out" | grep -qx '0 passed, 1 failed, 0 skipped' ||
    failed "tests/run on a small disk: $(cat "$work/out")"

# A cmake that only prints, and programs that would change the system.
mkdir "$work/fake"
cat >"$work/fake/cmake" <<'END'
#!/bin/sh
case "$*" in
--version) echo cmake version 3.25.1 ;;
--preset*) echo "$*" >options ;;
*"--target installed"*) printf '[  5%%] one\n[ 37%%] two\n[ 38%%] three\n[100%%] four\n' && exit "${BUILD_STATUS:-0}" ;;
*) exit 9 ;;
esac
END
printf '#!/bin/sh\nexit 1\n' | tee "$work/fake/sudo" >"$work/fake/apt-get"
chmod +x "$work"/fake/*
mkdir -p "$work/tree/build"
printf '#!/bin/sh\nexit 0\n' >"$work/tree/build/sutra"
chmod +x "$work/tree/build/sutra"
CMAKE_ARGS="-DSUTRA_CUDA=OFF -DSUTRA_MPI=OFF" PATH=$work/fake:$PATH "$work/tree/host/quickstart" >"$work/out" 2>&1 </dev/null ||
    failed "host/quickstart: exit status $?: $(cat "$work/out")"
[ "$(grep '%$' "$work/out" | tr -d '\n')" = "  30 %  100 %" ] || failed "host/quickstart: no progress: $(cat "$work/out")"
grep -q 'two$' "$work/out" && failed "host/quickstart prints the output of a build that succeeds"
grep -q '^  build/sutra analyze ' "$work/out" || failed "host/quickstart does not name sutra analyze"
grep -q ' -DSUTRA_CUDA=OFF -DSUTRA_MPI=OFF$' "$work/tree/options" || failed "host/quickstart ignores CMAKE_ARGS"
BUILD_STATUS=3 PATH=$work/fake:$PATH "$work/tree/host/quickstart" >"$work/out" 2>&1 </dev/null
[ $? = 3 ] && grep -qx '\[ 37%\] two' "$work/out" || failed "host/quickstart with a build that fails: $(cat "$work/out")"

if command -v c++ >/dev/null; then
    cmake -S . -B "$work/build" -DCMAKE_CXX_COMPILER:FILEPATH=CMAKE_CXX_COMPILER-NOTFOUND -DSUTRA_CUDA=OFF -DSUTRA_MPI=OFF \
        -DBUILD_TESTING=OFF >"$work/log" 2>&1 || { cat "$work/log" && failed "cmake"; }
    grep -q '^CMAKE_CXX_COMPILER:.*=/' "$work/build/CMakeCache.txt" || failed "CMake does not search for a C++ compiler again"
fi

# configure_wheel LIST PACKAGES: configures the wheel, which fails with a short message of these dependencies and packages
configure_wheel() {
    ! PKG_CONFIG_LIBDIR=$work cmake -S python -B "$work/wheel" >"$work/out" 2>&1 || failed "the wheel: configured without $1"
    tr -s ' \n' '  ' <"$work/out" | grep -q "missing dependencies: .*$1 (Debian packages: .*$2): install them and run pip again" ||
        { cat "$work/out" && failed "the wheel: no message of $1"; }
    [ "$(wc -l <"$work/out")" -lt 10 ] || { cat "$work/out" && failed "the wheel: a long message"; }
}
CC=$work/no-cc configure_wheel "a C compiler, libdeflate, libzstd" "gcc libc6-dev libdeflate-dev libzstd-dev"
configure_wheel "libdeflate, libzstd" "libdeflate-dev libzstd-dev"
! grep -q "a C compiler" "$work/out" || failed "the wheel: CMake does not search for a C compiler again"
grep -qx 'SUTRA_CUDA:STRING=OFF' "$work/wheel/CMakeCache.txt" || failed "the wheel: the CUDA engine is not off by default"

echo "$n_failed failed"
[ $n_failed = 0 ]

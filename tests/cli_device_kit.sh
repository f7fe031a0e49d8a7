#!/usr/bin/env bash
# cli_device_kit - rehearses bench/device without a GPU. prepare builds the preset `device`, gathers a folder, lists
# missing dependencies, and fails if programs need a newer glibc or if the folder is too large. run ends each part as "ok"
# or "no GPU or tool", prints its tables, and continues after parts that fail or reach their time limit. With the CPU's
# substitute for the CUDA engine, the checks themselves succeed. gpu_steps runs several tests and refuses unknown names.
# bench/engine ends at its time limit.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
[ -x "$SUTRA_BUILD/tests/gpu_steps" ] || { echo "skipped: gpu_steps was not built: it needs cmocka"; exit 77; }
for tool in objdump python3; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
n_failed=0
failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# expect STATUS WHAT COMMAND...: the command exits with this status; its output is in $work/out
expect() {
    local expected=$1 what=$2 status
    shift 2
    "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    [ $status = "$expected" ] || { failed "$what: exit status $status instead of $expected" && cat "$work/out"; }
}
# prints REGEX: the last output has such a line
prints() { grep -qE "$1" "$work/out" || { failed "no line matches: $1" && cat "$work/out"; }; }

# ---- gpu_steps ----

expect 64 "gpu_steps with an unknown name" "$SUTRA_BUILD/tests/gpu_steps" '*random_tables' no_such_test
prints "no test has the name 'no_such_test'"
prints '^  both_engines_agree_on_random_tables$'
host_steps=$SUTRA_BUILD/tests/gpu_steps_on_host_gpu
if [ -x "$host_steps" ]; then
    expect 0 "gpu_steps with two names" "$host_steps" '*_columns_at_the_edges_of_warps' '*_works_in_pieces'
    [ "$(grep -c '  OK ' "$work/out")" = 2 ] || failed "gpu_steps runs other tests: $(cat "$work/out")"
fi

# ---- bench/engine ends at its time limit, and writes its JSON ----

expect 1 "bench/engine with a long row" bench/engine --build "$SUTRA_BUILD" --sizes 1e7 --shapes recorded --seconds 0.5
prints 'recorded, 10,000,000 operators: no time left$'
expect 1 "bench/engine with a long command" bench/engine --build "$SUTRA_BUILD" --sizes "" --events 1e6 --seconds 0.5 \
    --json "$work/json"
prints 'link, 1,000,000 events: no time left$'
grep -q '"commands": \[\]' "$work/json" || failed "bench/engine: no JSON"

# ---- prepare ----

expect 0 "prepare --help" bench/device/prepare --help
expect 64 "prepare with an unknown option" bench/device/prepare --no-such-option
expect 64 "prepare --build without a directory" bench/device/prepare --build
expect 64 "prepare with two folders" bench/device/prepare "$work/a" "$work/b"
mkdir "$work/empty" "$work/other"
touch "$work/other/file"
expect 69 "prepare without cmocka" env PKG_CONFIG_LIBDIR="$work" bench/device/prepare "$work/kit"
prints 'missing dependencies: install them and run bench/device/prepare again'
prints '^  cmocka '
expect 1 "prepare with a directory that is no build" bench/device/prepare --build "$work/empty" "$work/kit"
prints 'has no sutra: build the targets'
expect 1 "prepare into another folder" bench/device/prepare --build "$SUTRA_BUILD" "$work/other"
[ -e "$work/other/file" ] || failed "prepare removed files that it did not make"

# Tools that print limits which are exceeded.
mkdir "$work/fake"
printf '#!/bin/sh\nprintf "57\\tkit\\n"\n' >"$work/fake/du"
chmod +x "$work/fake/du"
expect 1 "prepare with a large folder" env PATH="$work/fake:$PATH" bench/device/prepare --build "$SUTRA_BUILD" "$work/kit"
prints 'has 57 MiB; the device machine accepts 56 MiB'
rm "$work/fake/du"
printf '#!/bin/sh\necho "0 DF *UND* 0 (GLIBC_2.40) f"\n' >"$work/fake/objdump"
chmod +x "$work/fake/objdump"
expect 1 "prepare with a new glibc" env PATH="$work/fake:$PATH" bench/device/prepare --build "$SUTRA_BUILD" "$work/kit"
prints 'the programs need GLIBC_2.40, the device machine has GLIBC_2.39'
rm "$work/fake/objdump"

# In a copy of the sources, with a cmake whose build is this one.
mkdir "$work/tree"
tar -c bench/device bench/engine host/packages tests/*.sh tests/data/link | tar -xC "$work/tree"
cat >"$work/fake/cmake" <<'TEXT'
#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
--version) echo cmake version 3.25.1 ;;
"--build --preset device "*)
    [ -z "$BUILD_FAILS" ] && mkdir -p build-device.build/tests &&
        cp "$SUTRA_BUILD/CMakeCache.txt" "$SUTRA" "$SUTRA_BUILD/match_engines" build-device.build &&
        cp "$SUTRA_BUILD/tests/gpu_steps" build-device.build/tests
    ;;
esac
TEXT
printf '#!/bin/sh\n' >"$work/fake/nvcc"
chmod +x "$work"/fake/*
export CALLS=$work/calls BUILD_FAILS=yes
expect 1 "prepare with a build that fails" env PATH="$work/fake:$PATH" "$work/tree/bench/device/prepare"
prints 'the build failed'
export BUILD_FAILS=""
expect 0 "prepare with the preset" env PATH="$work/fake:$PATH" CMAKE_ARGS=-DSUTRA_CUDA_ARCHITECTURES=100 \
    "$work/tree/bench/device/prepare"
grep -qx -e '--preset device -DSUTRA_CUDA_ARCHITECTURES=100' "$work/calls" || failed "prepare: $(cat "$work/calls")"
[ -x "$work/tree/build-device/run" ] || failed "prepare does not write build-device"
cmake --list-presets=build | grep -q '"device"' || failed "no build preset device"
cmake --preset device -B "$work/empty" -N >"$work/out" 2>&1
# shellcheck disable=SC2016 # the loader expands $ORIGIN
for variable in SUTRA_CUDA=\"ON\" SUTRA_CUDA_ARCHITECTURES=\"90\" CMAKE_BUILD_TYPE=\"Release\" CMAKE_CUDA_FLAGS=\"-lineinfo\" \
    'CMAKE_BUILD_RPATH="\$ORIGIN/lib;\$ORIGIN/\.\./lib"'; do
    prints "$variable"
done

expect 0 "prepare --build" bench/device/prepare --build "$SUTRA_BUILD" "$work/kit"
prints "^$work/kit: [0-9]+ MiB, needs GLIBC_2\.[0-9]+, carries .*libzstd"
expect 0 "prepare again" bench/device/prepare --build "$SUTRA_BUILD" "$work/kit"

# ---- run ----

run=$work/kit/run
expect 0 "run --help" "$run" --help
for arguments in "--no-such-option" "--seconds" "--seconds 0" "--parts" "--parts smoke,no-such-part" "part" \
    "part no-such-part"; do
    # shellcheck disable=SC2086 # options and their values
    expect 64 "run $arguments" "$run" $arguments
done
"$SUTRA" devices --json | grep -q '"refused": ""' && with_gpu=0 || with_gpu=77

# all_end_well WHAT: each part printed "ok" or "no GPU or tool"
all_end_well() {
    ! grep -E ' (TIME LIMIT|FAILED [0-9]+|no time left)( |$)' "$work/out" ||
        { failed "$1" && cat "$work/kit/out/log.txt"; }
}
expect "$with_gpu" "run" "$run" --small --seconds 300
all_end_well "run"
[ "$(grep -cE '^[a-z_0-9]+ +(ok|no GPU or tool) ' "$work/out")" = 19 ] || failed "run: not 19 parts: $(cat "$work/out")"
prints '^\| recorded, 1,000 \|'
prints '^\| 1,000 events, cpu, 1 thread \|'
for file in summary.txt log.txt rows.jsonl link.jsonl; do
    [ -s "$work/kit/out/$file" ] || failed "run does not write $file"
done
[ "$(wc -l <"$work/kit/out/rows.jsonl")" = 2 ] || failed "rows.jsonl has not a line per part"
[ "$(nproc)" = 1 ] || ! grep -q '^| 10,000 events, cpu, 1 thread |' "$work/out" || failed "bench/engine ignores --threads"
awk '/^====/ && previous ~ /^====/ { exit 1 } { previous = $0 }' "$work/kit/out/log.txt" ||
    failed "parallel parts mix their output: $(cat "$work/kit/out/log.txt")"
expect "$with_gpu" "run part" env OUT="$work/other" "$run" part facts
prints '^sutra [0-9]'

# The time limit of a part, a part that fails, and no time left; later parts run.
cp "$work/kit/src/build/tests/gpu_steps" "$work/gpu_steps"
printf '#!/bin/sh\nsleep 1000\n' >"$work/kit/src/build/tests/gpu_steps"
expect 1 "run with a part that hangs" "$run" --small --seconds 20 --parts smoke
prints '^smoke +TIME LIMIT '
printf '#!/bin/sh\necho reason\nexit 3\n' >"$work/kit/src/build/tests/gpu_steps"
expect 1 "run with a part that fails" "$run" --small --seconds 300 --parts smoke,link
prints '^smoke +FAILED 3 .* reason$'
prints '^link +(ok|no GPU or tool) '
grep -qx '    reason' "$work/kit/out/log.txt" || failed "log.txt has no output of a part that fails"
expect "$with_gpu" "run without time" "$run" --seconds 1 --parts smoke
prints '^smoke +no time left$'
cp "$work/gpu_steps" "$work/kit/src/build/tests/gpu_steps"

if [ -x "${SUTRA_ON_HOST_GPU:-}" ] && [ -x "$host_steps" ]; then
    cp "$SUTRA_ON_HOST_GPU" "$work/kit/src/build/sutra"
    cp "$host_steps" "$work/kit/src/build/tests/gpu_steps"
    # A driver's library that records its client, which run starts and ends.
    cat >"$work/cuda.c" <<'TEXT'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned flags) { return (int)flags; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
    FILE *file = fopen(getenv("CLIENT"), "w");
    *context = file;
    return fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) ? 1 : device;
}
TEXT
    export CLIENT=$work/client
    ! command -v cc >/dev/null || cc -shared -fPIC -o "$work/fake/libcuda.so.1" "$work/cuda.c" || failed "no libcuda.so.1"
    # Tools that only run their program, or write their file.
    # shellcheck disable=SC2016 # the tools expand $1
    printf '#!/bin/sh\nwhile [ ! -x "$1" ]; do shift; done\nexec "$@"\n' >"$work/fake/compute-sanitizer"
    # shellcheck disable=SC2016 # the tools expand $1
    printf '#!/bin/sh\nwhile [ "$1" != --log-file ]; do shift; done\necho time >"$2"\n' >"$work/fake/ncu"
    chmod +x "$work"/fake/*
    parts=facts,smoke,golden,golden_pieces,pairs,memcheck,match,link,ncu
    expect 0 "run with the substitute" env PATH="$work/fake:$PATH" LD_LIBRARY_PATH="$work/fake" "$run" --small \
        --seconds 300 --parts $parts
    all_end_well "run with the substitute"
    for part in ${parts//,/ }; do
        prints "^$part +ok "
    done
    prints '^\| 1,000 events, cuda, 1 thread \|'
    [ "$(cat "$work/kit/out/ncu.csv")" = time ] || failed "run does not write ncu.csv"
    if [ -e "$work/fake/libcuda.so.1" ]; then
        [ -s "$CLIENT" ] || failed "run does not keep the GPU open"
        ! kill -0 "$(cat "$CLIENT")" 2>/dev/null || failed "run leaves its client of the GPU"
    fi
    # An engine with other results is reported.
    cat >"$work/kit/src/build/sutra" <<TEXT
#!/bin/sh
'$SUTRA_ON_HOST_GPU' "\$@" || exit
case "\$*" in *"tree "*"--device cuda"*) echo >>"\$4" ;; esac
TEXT
    expect 1 "run with different results" "$run" --small --seconds 300 --parts pairs
    grep -q 'FAILED tree .*: different files of both engines' "$work/kit/out/log.txt" ||
        failed "pairs: $(cat "$work/kit/out/log.txt")"
fi

echo "$n_failed failed"
[ $n_failed = 0 ]

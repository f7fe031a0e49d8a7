#!/usr/bin/env bash
# golden_mpi.sh - tests sutra-mpi: the bytes of sutra, with any number of processes. If a process is killed, the others
# complete their ranks, the missing rank is reported, and the next run links it.
. tests/golden.sh
program=$(dirname "${SUTRA:-none}")/sutra-mpi
[ -x "$program" ] || { echo "sutra-mpi was not built: there is no MPI" && exit 77; }
command -v mpirun >/dev/null || { echo "there is no mpirun" && exit 77; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "this mpirun is not Open MPI's" && exit 77; }
here=$PWD/tests
cd "$work" || exit 71
# More processes than cores: by Open MPI 4, by Open MPI 5.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# What MPI keeps to the end is told by its frames, for which stacks must be whole.
plain=${ASAN_OPTIONS:-}
export LSAN_OPTIONS="${LSAN_OPTIONS:-}:suppressions='$here/mpi_leaks.supp':print_suppressions=0"
export ASAN_OPTIONS=$plain:fast_unwind_on_malloc=0

# run OUT N OPTION...: the job by N processes; messages in OUT.err.
run() {
    mpirun --enable-recovery -n "$2" "$program" --patience 2 link hosts devices -o "$1" "${@:3}" 2>"$1.err" </dev/null
}

"$SUTRA" gen --events 1k --ranks 9 --host hosts --device devices || exit 1
for format in json et; do
    counts=3
    [ $format = json ] || counts="2 3 7"
    "$SUTRA" link hosts devices -o alone -q --format $format || exit 1
    for n in $counts; do
        run by$n $n --format $format || failed "$format by $n processes: exit $?"
        diff -r -x .job -x job.json alone by$n || failed "$format by $n processes: other files"
        grep -q ' 9  ranks linked' by$n.err || failed "$format by $n processes: no summary"
    done
    rm -r alone by?
done

# Analyses: what processes leave for each other are tables. The last trace is broken, which is told once; two ranks are
# in one trace.
head -c 4000 devices/device.8.json >x && mv x devices/device.8.json
python3 "$here/merged_trace.py" devices/device.[67].json >devices/merged.json || failed "two traces are not merged"
rm devices/device.[67].json
# shared N ANALYSIS: by N processes.
shared() {
    n=$1 what=${2:-overview}
    shift
    "$SUTRA" analyze "$@" devices -o tables -q 2>tables.err || failed "analyze $what: exit $?"
    mpirun --enable-recovery -n $n "$program" --patience 9 analyze "$@" devices -o tables$n -q 2>tables$n.err </dev/null ||
        { failed "analyze $what by $n processes: exit $?" && cat tables$n.err; }
    diff -r tables tables$n || failed "analyze $what by $n processes: other files"
    # MPI adds warnings about the machine.
    diff tables.err <(grep '^sutra: ' tables$n.err) || failed "analyze $what by $n processes: other warnings"
    rm -r tables tables$n
}
shared 2 hta
shared 3 dlrm --compat
shared 7 collectives
shared 3

# process_of OUT: the id of process 1 of the job that writes there.
process_of() {
    for process in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx OMPI_COMM_WORLD_RANK=1 &&
            tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "sutra-mpi .* $1 "; then
            echo "${process#/proc/}"
            return
        fi
    done
}

# killed OUT: kills process 1 while it has the device trace of a rank before it; touches OUT.killed then. It is stopped
# before it is looked at, so that it cannot be done in between.
killed() {
    until [ -e "$1/.job/plan" ]; do sleep 0.01; done
    process=$(process_of "$1")
    while kill -STOP "$process" 2>/dev/null; do
        if grep -q 'devices/device' "/proc/$process/maps"; then
            touch "$1.killed"
            kill -9 "$process"
            return
        fi
        kill -CONT "$process"
        sleep 0.002
    done
}

rm -r hosts devices
export ASAN_OPTIONS=$plain:detect_leaks=0 # of more work, which others have done
"$SUTRA" gen --events 30k --ranks 9 --host hosts --device devices || exit 1
"$SUTRA" link hosts devices -o alone -q --format et || exit 1
for attempt in 1 2 3 4 5; do # a process may never be seen with a trace, on a machine that does other things
    rm -rf hit hit.*
    killed hit &
    run hit 3 --format et
    kill $! 2>/dev/null # if the job never began
    wait $!
    [ ! -e hit.killed ] || break
done
[ -e hit.killed ] || failed "process 1 was not killed in $attempt runs"
grep -q 'process 1 has not responded' hit.err || failed "the process that was killed is not told"
"$SUTRA" check hit >hit.check && failed "a rank must be missing"
grep -q '^error .*not linked' hit.check || failed "the rank of the process that was killed is not told"
run hit 2 --format et || failed "the run after the killed one: exit $?"
diff -r -x .job -x job.json alone hit || failed "the run after the killed one: other files"
finish

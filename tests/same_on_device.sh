# same_on_device.sh - compares the files of a program on its CUDA device with those on the CPU: the golden tests with
# --device cuda, and generated pairs of all shapes. usage: same_on_device.sh PROGRAM [OPTION...]; options such as
# --device-memory are passed to each command. SHARD=I/N in the environment runs only each N-th part, from I = 0 on, so
# that N processes share the work.
. tests/golden.sh
program=$(realpath "$1") || exit 64
shift
shard=${SHARD:-0/1}
n_parts=0 n_pairs=0 n_files=0

# is_mine: counts a part of the work; whether it belongs to this shard.
is_mine() {
    n_parts=$((n_parts + 1))
    [ $((n_parts % ${shard#*/})) = "${shard%/*}" ]
}

# The program as others know it, by its older name too, with the device added where a command has an engine.
mkdir "$work/names"
ln -s "$program" "$work/names/trace_link"
cat >"$work/sutra" <<END
#!/bin/sh
case \${0##*/} in
trace_link) exec '$work/names/trace_link' "\$@" --device cuda $* ;;
esac
case \$1 in
link | link-legacy | critical-path | tree | correlate | analyze) exec '$program' "\$@" --device cuda $* ;;
*) exec '$program' "\$@" ;;
esac
END
chmod +x "$work/sutra"

for test in golden_link golden_legacy golden_sync; do
    is_mine || continue
    n_checks=$((n_checks + 1))
    SUTRA=$work/sutra bash tests/$test.sh >"$work/log" 2>&1
    code=$?
    [ $code = 0 ] || [ $code = 77 ] || { failed "$test.sh"; cat "$work/log"; }
done

# same NAME OUTPUT_OPTION COMMAND...: the same file from both, which is written to where the option says, or the same error.
same() {
    name=$1 option=$2
    shift 2
    n_checks=$((n_checks + 1))
    rm -f "$work/cpu" "$work/cuda"
    "$program" "$@" --device cpu "$option" "$work/cpu" -q >"$work/cpu.said" 2>&1
    cpu=$?
    "$work/sutra" "$@" "$option" "$work/cuda" -q >"$work/cuda.said" 2>&1
    cuda=$?
    if [ $cpu = $cuda ] && cmp "$work/cpu.said" "$work/cuda.said"; then
        [ $cpu = 65 ] && return # a pair that has too little in common
        cmp "$work/cpu" "$work/cuda" && n_files=$((n_files + 1)) && return
    fi
    failed "$name: exit $cpu on the CPU, $cuda on the device"
    cat "$work/cuda.said"
}

# same_tables NAME COMMAND...: the same, for a command that writes a folder.
same_tables() {
    name=$1
    shift
    n_checks=$((n_checks + 1))
    rm -rf "$work/cpu.d" "$work/cuda.d"
    "$program" "$@" --device cpu -o "$work/cpu.d" -q >"$work/cpu.said" 2>&1
    cpu=$?
    "$work/sutra" "$@" -o "$work/cuda.d" -q >"$work/cuda.said" 2>&1
    cuda=$?
    [ $cpu = $cuda ] && cmp "$work/cpu.said" "$work/cuda.said" && { [ $cpu = 65 ] || diff -r "$work/cpu.d" "$work/cuda.d"; } &&
        return
    failed "$name: exit $cpu on the CPU, $cuda on the device"
    cat "$work/cuda.said"
}

for shape in realistic unmatched nested overlapping gaps ties deep; do
    for times in '' --integer-times; do
        is_mine || continue
        n_pairs=$((n_pairs + 1))
        "$program" gen --events 20k --seed 7 --threads 8 --shape $shape $times --host "$work/h" --device "$work/d" || exit 1
        same "link $shape $times" -o link "$work/h" "$work/d"
        same "link $shape $times in pieces" -o link "$work/h" "$work/d" --device-memory 800k
        same "critical-path $shape $times" -o critical-path "$work/d" --format json
        same "tree $shape $times" -o tree "$work/d"
        same "correlate $shape $times" -o correlate "$work/d" --kind all
        same_tables "analyze hta $shape $times" analyze hta "$work/d"
        same_tables "analyze dlrm $shape $times" analyze dlrm "$work/d"
        same "link-legacy $shape $times" -o link-legacy "$work/h" "$work/d" --lenient
    done
done
[ $n_files -ge $((4 * n_pairs - 8)) ] || failed "only $n_files files to compare"
finish

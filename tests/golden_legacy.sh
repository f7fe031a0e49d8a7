# golden_legacy.sh - tests `sutra link-legacy --exact-match` against outputs of trace_link: bytes, messages and exit
# codes. Approximate match must give the same file where exact match uses no operator twice.
#
# A case is a directory with et.json.gz, kineto.json.gz, args.txt (one argument per line), exit.txt, stdout.txt,
# stderr.txt and, if there is an output, out.json.gz; text files may be compressed. Cases are in ../shared/cases/legacy,
# if present. Where trace_link ended with a traceback, sutra must give a result or a one-line error.
. tests/golden.sh
cases=../shared/cases/legacy
[ -d "$cases" ] || { echo "needs $cases"; exit 77; }
cases=$(realpath "$cases")

text() {
    if [ -e "$1" ]; then cat "$1"; else gzip -dc "$1.gz"; fi
}

# As trace_link it accepts the options and prints the messages of the original program.
ln -s "$SUTRA" "$work/trace_link"

# run COMMAND... : runs the case's command.
run() {
    "$@" --et-file "$et" --kineto-file kineto.json --compat-path "${options[@]}" >stdout 2>stderr
    code=$?
}

for folder in "$cases"/*/; do
    name=$(basename "$folder")
    rm -rf "$work/run"
    mkdir "$work/run"
    cd "$work/run" || exit 71
    et=et.json
    [ -e "$folder/et_name.txt" ] && et=$(cat "$folder/et_name.txt")
    gzip -dc "$folder/et.json.gz" >"$et"
    gzip -dc "$folder/kineto.json.gz" >kineto.json
    mapfile -t args <"$folder/args.txt"
    plus=${et//.json/_plus.json}
    text "$folder/stderr.txt" | grep '^\[' >messages
    n_errors=$(text "$folder/stderr.txt" | grep -vc '^\[\|^$')
    n_checks=$((n_checks + 1))
    options=(--compat-exit "${args[@]}")
    run "$work/trace_link"
    if [ "$n_errors" != 0 ]; then
        [ $code = 0 ] || [ "$(grep '^sutra: ' stderr | grep -vc '^sutra: warning: ')" = 1 ] || failed "$name: exit $code without a line that says why"
        continue
    fi
    [ "$code" = "$(cat "$folder/exit.txt")" ] || failed "$name: exit $code"
    text "$folder/stdout.txt" | cmp -s - stdout || failed "$name: standard output differs"
    grep '^\[' stderr | cmp -s - messages || failed "$name: messages differ"
    if [ ! -e "$folder/out.json.gz" ]; then
        [ ! -e "$plus" ] || failed "$name: an output that should not be"
        continue
    fi
    gzip -dc "$folder/out.json.gz" | cmp -s - "$plus" || failed "$name: output differs"
    options=(--output-file near.json)
    for word in "${args[@]}"; do
        [ "$word" = --exact-match ] || options+=("$word")
    done
    run "$SUTRA" link-legacy --verbose
    if grep -q 'Exact match fits' stderr; then
        cmp -s near.json "$plus" || failed "$name: approximate match gives another file"
    fi
done
finish

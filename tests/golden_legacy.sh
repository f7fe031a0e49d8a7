# golden_legacy.sh - `sutra link-legacy --exact-match` on cases with what the older program gave: the expected bytes, messages
# and exit codes, and approximate match gives the same file where exact match uses no operator twice.
#
# A case is a folder with et.json.gz, kineto.json.gz, args.txt (an argument a line), exit.txt, stdout.txt, stderr.txt and,
# if there is an output, out.json.gz; text files may be compressed. Cases are those in ../shared/cases/legacy, where that
# exists. Where the older program ended with a traceback, ours must give a result or one line that says why not.
set -u
cases=../shared/cases/legacy
[ -d "$cases" ] || { echo "needs $cases"; exit 77; }
cases=$(realpath "$cases")
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_failed=0 n_checks=0

text() {
    if [ -e "$1" ]; then cat "$1"; else gzip -dc "$1.gz"; fi
}

bad() {
    echo "$name: $*"
    n_failed=$((n_failed + 1))
}

# Under the older name it speaks as the older program does.
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
    failed=$(text "$folder/stderr.txt" | grep -vc '^\[\|^$')
    n_checks=$((n_checks + 1))
    options=(--compat-exit "${args[@]}")
    run "$work/trace_link"
    if [ "$failed" != 0 ]; then
        [ $code = 0 ] || [ "$(grep -c '^sutra: ' stderr)" = 1 ] || bad "exit $code without a line that says why"
        continue
    fi
    [ "$code" = "$(cat "$folder/exit.txt")" ] || bad "exit $code"
    text "$folder/stdout.txt" | cmp -s - stdout || bad "standard output differs"
    grep '^\[' stderr | cmp -s - messages || bad "messages differ"
    if [ ! -e "$folder/out.json.gz" ]; then
        [ ! -e "$plus" ] || bad "an output that should not be"
        continue
    fi
    gzip -dc "$folder/out.json.gz" | cmp -s - "$plus" || bad "output differs"
    options=(--output-file near.json)
    for word in "${args[@]}"; do
        [ "$word" = --exact-match ] || options+=("$word")
    done
    run "$SUTRA" link-legacy --verbose
    if grep -q 'Exact match fits' stderr; then
        cmp -s near.json "$plus" || bad "approximate match gives another file"
    fi
done
echo "$n_checks cases, $n_failed mistakes"
[ $n_failed = 0 ]

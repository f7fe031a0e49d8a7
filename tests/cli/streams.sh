# Inputs that are no regular files: -, a file on standard input, /dev/stdin and a named pipe give the results of the file.
. "$TOOLS/common.sh"
traces
sutra link host.json device.json -o plus.json -q
sutra link host.json device.json -o rank.0.et -q
# each FILE COMMAND...: runs the command, which names the input IN and the output OUT, with each kind of input.
each() {
    file=$1
    shift
    echo "sutra $*"
    for way in file - redirect /dev/stdin fifo; do
        rm -f fifo out.${way##*/}
        mkfifo fifo
        case $way in
        file) in=$file ;;
        redirect) in=- ;;
        *) in=$way ;;
        esac
        words=$(echo "$*" | sed "s#IN#$in#; s#OUT#out.${way##*/}#")
        case $way in
        file) sutra $words >std 2>err ;;
        redirect) sutra $words <"$file" >std 2>err ;;
        fifo) (exec timeout 20 cat "$file" >fifo) & sutra $words >std 2>err ;;
        *) cat "$file" | sutra $words >std 2>err ;;
        esac
        code=$?
        [ $code = 0 ] || echo "$way: exit $code: $(cat err)"
        [ -e out.${way##*/} ] || sed "s#^[^ ]* *##" std >out.${way##*/}
        cmp out.file out.${way##*/}
    done
}
each device.json columns IN -o OUT -q
each host.json columns IN -o OUT -q
gzip -k device.json
each device.json.gz columns IN -o OUT --table launches -q
each device.json info IN -q
each host.json info IN -q
each rank.0.et info IN -q
each plus.json convert IN -o OUT -q
each device.json cut IN -o OUT -q
each device.json repair IN -o OUT -q
each device.json tree IN -o OUT -q
each device.json correlate IN -o OUT -q
each rank.0.et jsonize IN -o OUT -q
each device.json diff IN device.json -q
each device.json analyze operators IN -q
each device.json link host.json IN -o OUT -q

echo "-- inputs that are not read to their end"
for command in 'columns - -o never' 'info -' 'convert - -o never'; do
    yes | sutra $command 2>&1
    echo "exit $?"
    sutra $(echo "$command" | sed 's#-#/dev/zero#') 2>&1
    echo "exit $?"
    cat device.json | sutra $command --max-input 100k 2>&1
    echo "exit $?"
    sutra $command </dev/null 2>&1
    echo "exit $?"
done
ls never 2>&1

echo "-- a report of a profiler"
sutra info /dev/null 2>&1 | grep -q 'reads no SQLite' && skip "built without SQLite"
need python3
python3 - <<'END' || skip "needs Python's module sqlite3"
import sqlite3
for mode in "delete", "wal":
    report = sqlite3.connect(mode + ".sqlite")
    report.execute("PRAGMA journal_mode=" + mode)
    report.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
                                                  nameId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 2000, 281479271743489, 1, 2);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
                                                 correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
                                                 shortName INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2500, 4000, 0, 7, 1, 281479271677952, 1, 1);
    """)
    report.commit()
    report.close()
END
for report in delete.sqlite wal.sqlite; do
    each $report convert IN -o OUT -q
    each $report analyze nsys IN -q
    each $report info IN -q
    each $report columns IN -o OUT -q
    each $report cut IN -o OUT -q
done
gzip delete.sqlite
each delete.sqlite.gz convert IN -o OUT -q

# Tables of analyze collectives: the straggler, clocks of hosts, lost and different collectives; sutra's and TraceLens'.
. "$TOOLS/common.sh"
need python3
job() {
    rm -rf h d
    sutra gen -n 2k --ranks 8 --ranks-per-host 4 --seed 1 --host h --device d "$@" || exit 1
}
job --clock-offset-us 2000 --skew-us 100 --straggler-rank 2
quietly sutra analyze collectives d -o tables --arrivals
ls tables
head -n 3 tables/collectives.csv tables/collective_types.csv tables/collective_groups.csv tables/collective_ranks.csv
cat tables/collective_clocks.csv tables/collective_hosts.csv
head -n 2 tables/collective_arrivals.csv tables/collective_sizes.csv tables/straggler_operators.csv
quietly sutra analyze collectives d -o more --threads 1 --no-report -q --arrivals
for table in tables/*.csv; do cmp "$table" "more/${table#tables/}"; done
quietly sutra analyze collectives d -o json --table-format json -q --no-report
python3 - <<'END'
import csv, json
rows = list(csv.DictReader(open("tables/collectives.csv")))
assert [int(row["last_rank"]) for row in rows if row["group"] == "0"].count(2) >= 5
arrivals = list(csv.DictReader(open("tables/collective_arrivals.csv")))
assert len(arrivals) == sum(int(row["ranks"]) for row in rows)
clocks = json.load(open("json/collective_clocks.json"))
assert [clock["set_right"] for clock in clocks] == [0] * 4 + [1] * 4
END
echo "--- a collective is lost, and another has another size"
job --inject lost:4 --inject resize:5
quietly sutra analyze collectives d
echo "--- a rank is missing, one is cut, and two collectives are swapped"
job --inject missing:3 --inject swap:6
cp d/device.1.json d/device.9.json
quietly sutra analyze collectives d -o checks -q --no-report
cut -d, -f 1-7 checks/collective_errors.csv
quietly sutra analyze collectives d --strict -q
echo "--- as TraceLens has them"
quietly sutra analyze collectives d/device.0.json d/device.1.json --compat tracelens -o compat
ls compat
head -n 2 compat/nccl_long.csv compat/nccl_implicit_sync.csv compat/straggler_summary.csv
echo "--- NCCL of one rank launches no collective"
cp "$DATA/link/h200_nccl/device.json.gz" nccl.json.gz
quietly sutra analyze collectives nccl.json.gz
echo "--- nothing"
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >empty.json
quietly sutra analyze collectives empty.json -o empty
quietly sutra analyze collectives empty.json -o empty --compat tracelens
quietly sutra analyze collectives

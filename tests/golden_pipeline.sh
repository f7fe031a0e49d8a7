#!/usr/bin/env bash
# golden_pipeline.sh - tests pipeline bubbles and expert balance of synthetic jobs with known times: on the page, as JSON
# and in the files of tables.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
. tests/golden.sh
tools=$PWD/tests
cd "$work"

# make NAME [NUMBER...]: writes a job of .et files.
make() {
    python3 "$tools/scale_job.py" "$@"
}

make pipeline pp=4 micro=6 layers=8 steps=3
make longer pp=4 micro=16 layers=8 steps=3
make both pp=2 dp=2 micro=3 layers=4
make experts dp=4 experts=1 skew=2 micro=2
make flat dp=2
"$SUTRA" simulate pipeline --pipeline --format json --quiet -o tables >pipeline.json
"$SUTRA" simulate pipeline --pipeline --format json --quiet -o tables_json --table-format json >/dev/null
"$SUTRA" simulate pipeline --micro-batches 16 --pipeline --format json --quiet >changed.json
for job in longer both experts flat; do
    "$SUTRA" simulate $job --pipeline --format json --quiet >$job.json
done
check "values of the tables" python3 - <<'PYTHON'
import csv, json

def load(name):
    return json.load(open(name))["pipeline"]

job = load("pipeline.json")
rows, passes = job["bubbles"], job["passes"]
assert len(rows) == 4 * 3 and len(passes) == 4 * 3 * 12 and job["experts"] is None
for row in rows:
    own = [p for p in passes if (p["rank"], p["step"]) == (row["rank"], row["step"])]
    # 1F1B: the stages before the last one warm up with one more forward pass each.
    warmup = 3 - row["rank"]
    assert "".join(p["direction"][0] for p in own) == "f" * warmup + "fb" * (6 - warmup) + "b" * warmup, own
    assert [p["micro_batch"] for p in own if p["direction"] == "backward"] == list(range(6))
    gaps = row["warmup_us"] + row["steady_us"] + row["cooldown_us"]
    assert abs(row["bubble_percent"] - 100 * gaps / row["window_us"]) < 0.01, row
    assert abs(row["busy_us"] - sum(p["busy_us"] for p in own)) < 0.01
    assert row["busy_us"] + gaps <= row["window_us"] + 0.1
    assert abs(row["ideal_percent"] - 100 * 3 / 9) < 0.01
    tail = row["window_us"] - (max(p["end_us"] for p in own) - min(p["start_us"] for p in passes if p["step"] == row["step"]))
    assert abs(gaps - sum(p["gap_us"] for p in own) - tail) < 0.1, (row, tail)
    # Transfers are in the gaps, so the bubble is a little larger than the ideal one.
    assert row["ideal_percent"] < row["bubble_percent"] < row["ideal_percent"] + 6, row
# The first stage waits at the end, the last one at the beginning.
first, last = rows[0], rows[-1]
assert first["warmup_us"] == 0 and first["cooldown_us"] > last["cooldown_us"] and last["warmup_us"] > 0
# More micro-batches: as in a job recorded with them, and a smaller bubble.
changed, longer = load("changed.json"), load("longer.json")
assert changed["bubbles"] == longer["bubbles"] and changed["passes"] == longer["passes"]
assert longer["bubbles"][0]["bubble_percent"] < first["bubble_percent"] - 10
both = load("both.json")["bubbles"]
assert len(both) == 4 * 2 and all(abs(row["ideal_percent"] - 25) < 0.01 for row in both)

# Four layers, eight passes each. The last rank computes 69 us a pass, the other ranks 34 us: mean 42.75 us.
experts = load("experts.json")
assert experts["bubbles"] is None and len(experts["experts"]) == 4 * 4
for row in experts["experts"]:
    assert row["compute_us"] == 8 * (69 if row["rank"] == 3 else 34), row
    assert abs(row["imbalance"] - 69 / 42.75) < 0.001 and abs(row["lost_us"] - 8 * (69 - 42.75)) < 0.001, row
assert load("flat.json") == {"bubbles": None, "passes": None, "experts": None}

for name, key in (("pipeline_bubbles", "bubbles"), ("pipeline_passes", "passes")):
    for table in (list(csv.DictReader(open(f"tables/{name}.csv"))), json.load(open(f"tables_json/{name}.json"))):
        assert len(table) == len(job[key]) and list(table[0]) == list(job[key][0])
        for a, b in zip(table, job[key]):
            for column, value in b.items():
                assert a[column] == value if isinstance(value, str) else abs(float(a[column]) - value) < 0.001, (column, a, b)
PYTHON
check "no table of experts" [ ! -e tables/expert_balance.csv ]
check "page" grep -q "Passes of step 2" tables/pipeline.html
check "charts" [ -s tables/charts/pipeline_passes.svg ]
check "well-formed" python3 -c 'import sys, xml.dom.minidom; [xml.dom.minidom.parse(name) for name in sys.argv[1:]]' \
    tables/pipeline.html tables/charts/*.svg
check "text" grep -q "pipeline, 4 stages, 6 micro-batches: bubbles .* %, ideal 33.3 %" <("$SUTRA" simulate pipeline --pipeline --quiet)
check "text of experts" grep -q "experts: ranks wait 840 us on average" <("$SUTRA" simulate experts --pipeline --quiet)
finish

# golden_verdict_runs.sh - checks verdicts of recorded runs of which the cause is known: steps, shares and rates equal
# those that Python computes from the events, and no finding contradicts the script that was recorded.
set -u
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
cd "$(dirname "$0")/.." || exit 70
exec python3 - "$SUTRA" <<'END'
import gzip, json, re, subprocess, sys, tempfile

sutra = sys.argv[1]
n_checks, failed = 0, []


def check(name, good):
    global n_checks
    n_checks += 1
    if not good:
        failed.append(name)


def near(name, got, expected, difference):
    check(f"{name}: {got}, expected {expected}", abs(got - expected) <= difference)


# ---- Intervals in nanoseconds ----


def union(intervals):
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def common(a, b):
    return sum(max(0, min(x[1], y[1]) - max(x[0], y[0])) for x in a for y in b)


def interval(event):
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


class Run:
    """The events of a trace of which the GPU is idle when the last step ends, and the verdict of sutra."""

    def __init__(self, name, path):
        self.name = name
        events = json.load(gzip.open(path))["traceEvents"]
        self.events = [e for e in events if e.get("ph") == "X"]
        calls = {e["args"]["correlation"]: interval(e) for e in self.events
                 if e["cat"] in ("cuda_runtime", "cuda_driver")}
        steps = self.of(lambda e: e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#"))
        self.n_steps = len(steps)
        self.window = [[min(s[0] for s in steps), max(s[1] for s in steps)]]
        self.length = common(self.window, self.window)
        activities = [e for e in self.events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
        self.busy = union(map(interval, activities))
        self.launches = sorted((calls[e["args"]["correlation"]][0], interval(e)[1]) for e in activities)
        words = [sutra, "analyze", path, "--format", "json", "-q"]
        report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
        self.verdict, self.not_the_cause = report["verdict"], report["not_the_cause"]
        self.findings = {finding["rule"]: finding for finding in report["findings"]}

    def of(self, test):
        return [interval(e) for e in self.events if test(e)]

    def percent_in(self, intervals):
        return 100 * common(union(intervals), self.window) / self.length

    def percent_idle_in(self, intervals):
        return self.percent_in(intervals) - 100 * common(union(intervals), self.busy) / self.length

    def launches_with_empty_queue(self):
        """Launch calls, and those at whose start the GPU has ended all earlier work."""
        starts = sorted({start for start, _ in self.launches})
        empty = [t for t in starts if all(end <= t for start, end in self.launches if start < t)]
        return len(starts), len(empty)


PATHS = {name: f"tests/data/link/h200_{name}/device.json.gz"
         for name in ("convolutions", "graphs", "matmul", "memory", "nccl", "streams", "transformer")}
PATHS["loader"] = "tests/data/verdict/h200_loader/device.json.gz"
runs = {name: Run(name, path) for name, path in PATHS.items()}

# ---- All runs: no other program used the GPU, so each activity starts soon after its launch ----

# No run except `loader` loads data. None allocates memory in each step, or has NCCL kernels: one rank needs none.
NEVER = {"device_side", "trace_edge", "cpu_preprocessing", "allocation", "startup", "exposed_comm", "straggler",
         "slow_collective", "unrecorded_graph", "ddp_buffers", "unfused_attention"}
for run in runs.values():
    name, verdict, shares = run.name, run.verdict, run.verdict["shares"]
    near(f"{name}: step", verdict["step_us"], run.length / 1e3 / run.n_steps, 0.01)
    near(f"{name}: compute", shares["compute"], run.percent_in(run.of(lambda e: e["cat"] == "kernel")), 0.01)
    near(f"{name}: memcpy", shares["exposed_copy"], run.percent_in(run.busy) - shares["compute"], 0.01)
    end = max(end for _, end in run.busy)
    near(f"{name}: after the last activity", shares["after"], run.percent_in([[end, run.window[0][1]]]), 0.01)
    near(f"{name}: launched before", shares["queued"] + shares["unknown"], 0, 0.5)
    near(f"{name}: parts", sum(shares.values()), 100, 0.01)
    check(f"{name}: {list(run.findings)}", not NEVER & set(run.findings))
    check(f"{name}: no check of a value of 0", not any(f["check"]["now"] == "0" for f in run.findings.values()))
    check(f"{name}: data loading", ("data_loading" in run.findings) == (name == "loader"))

# ---- Products of 8192 x 8192 in FP32: the GPU computes without tensor cores, and the CPU waits for it ----

run = runs["matmul"]
check("matmul: FP32 is the only finding", list(run.findings) == ["fp32_no_tensor_cores"])
check("matmul: headline", re.fullmatch(
    r"Compute-bound: the GPU computes 99% of the time\. Kernel \S*gemm\S* takes \d+\.\d% of the time, launched by aten::mm\.",
    run.verdict["why"]))
fp32 = run.findings["fp32_no_tensor_cores"]
products = run.of(lambda e: e["cat"] == "kernel" and "gemm" in e["name"])
near("matmul: FP32", fp32["numbers"]["busy_us"], sum(end - start for start, end in products) / 1e3 / run.n_steps, 1)
check("matmul: remedy", "set_float32_matmul_precision" in fp32["do"][0]["text"])
check("matmul: synchronization is not the cause", [s["suspect"] for s in run.not_the_cause] == ["sync"])
near("matmul: synchronizing calls", run.not_the_cause[0]["apparent_percent"],
     run.percent_in(run.of(lambda e: e["cat"] == "cuda_runtime" and "Synchronize" in e["name"])), 0.01)
with tempfile.TemporaryDirectory() as tables:
    subprocess.run([sutra, "analyze", "operators", PATHS["matmul"], "--table-format", "json", "-o", tables, "-q"], check=True)
    rates = json.load(open(f"{tables}/rates.json"))[0]
near("matmul: TFLOP/s", rates["tflops_per_s"],
     len(products) * 2 * 8192**3 / sum(end - start for start, end in products) / 1e3, 0.001)
near("matmul: peak of the H200", rates["roofline_percent"], 100 * rates["tflops_per_s"] / 66.9, 0.001)

# ---- A DataLoader without workers: the GPU waits for batches, then for the CPU ----

run = runs["loader"]
check("loader: data loading comes first", list(run.findings) == ["data_loading", "host_bound"])
loading, launching = run.findings.values()
check("loader: situation", loading["situation"] == "training_process")
check("loader: remedy", "num_workers" in loading["do"][0]["text"])
near("loader: idle in the loader", loading["saving_percent"], run.percent_idle_in(run.of(
    lambda e: e["name"].startswith("enumerate(DataLoader)#_SingleProcessDataLoaderIter"))), 0.01)
near("loader: idle elsewhere", launching["saving_percent"],
     100 - run.percent_in(run.busy) - loading["saving_percent"] - run.verdict["shares"]["after"], 2)

# ---- Small models: the CPU launches too slowly, and nothing else is the cause ----

UNFUSED = ["convolutions", "memory", "nccl", "transformer"]  # the default of SGD, Adam and AdamW: foreach kernels
for name in UNFUSED + ["streams"]:
    run = runs[name]
    host = run.findings["host_bound"]
    near(f"{name}: idle", host["saving_percent"],
         100 - run.percent_in(run.busy) - run.verdict["shares"]["after"], 1)
    n, n_empty = run.launches_with_empty_queue()
    near(f"{name}: launches", host["numbers"]["launches"], n / run.n_steps, 0.001)
    near(f"{name}: empty queue", host["numbers"]["queue_empty_percent"], 100 * n_empty / n, 0.001)
    near(f"{name}: launch interval", host["numbers"]["launch_interval_us"], run.length / 1e3 / n, 0.01)
    check(f"{name}: findings",
          list(run.findings) == ["host_bound"] + ["small_kernels_optimizer"] * (name in UNFUSED))
for name in UNFUSED:
    run = runs[name]
    optimizer = run.findings["small_kernels_optimizer"]
    updates = run.of(lambda e: e["cat"] == "user_annotation" and e["name"].startswith("Optimizer."))
    near(f"{name}: optimizer", optimizer["numbers"]["host_us"],
         run.percent_in(updates) / 100 * run.length / 1e3 / run.n_steps, 0.01)
    near(f"{name}: idle in the optimizer", optimizer["saving_percent"], run.percent_idle_in(updates), 0.01)
    check(f"{name}: optimizer is part of launch-bound", optimizer["part_of"] == ["host_bound"])
    check(f"{name}: remedy", "fused=True" in optimizer["do"][0]["text"])

# ---- A CUDA graph of small kernels: no remedy proposes what the script does ----

check("graphs: findings", not {"host_bound", "small_kernels_optimizer"} & set(runs["graphs"].findings))

print(f"{n_checks} checks, {len(failed)} failed", *failed, sep="\n")
sys.exit(bool(failed))
END

"""tables.py - measures latencies and copy rates of the GPU with PyTorch, and prints tables that bench/engine does not.

    tables.py floors FILE     writes the figures as JSON
    tables.py print FOLDER    prints FOLDER/floors.json and the stages of FOLDER/link.jsonl as Markdown; both may be
                              missing

bench/engine measures one sort and copies between host and GPU.
"""
import json
import os
import sys
import time

STAGES = {  # column: stages of `sutra link --stats`
    "sort": ["sort events"],
    "exclusive": ["exclusive durations"],
    "order": ["order between threads"],
    "parents": ["find parents"],
}


def floors(path):
    import torch

    def seconds(work):
        """The minimum of five rounds, by the clock of the GPU."""
        rounds = []
        for _ in range(6):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            rounds.append(begin.elapsed_time(end) * 1e-3)
        return min(rounds[1:])

    begin = time.perf_counter()
    one = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "first_call_s": time.perf_counter() - begin}
    n_bytes, n_launches, n_copies = 1 << 30, 1000, 200
    source = torch.zeros(n_bytes, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    found["device_copy_gb_s"] = 2 * n_bytes / seconds(lambda: target.copy_(source)) * 1e-9  # read and written
    found["launch_us"] = seconds(lambda: [one.add_(1) for _ in range(n_launches)]) / n_launches * 1e6
    begin = time.perf_counter()
    for _ in range(n_copies):
        one.item()
    found["round_trip_us"] = (time.perf_counter() - begin) / n_copies * 1e6
    with open(path, "w") as f:
        json.dump(found, f, indent=2)
        f.write("\n")
    print(", ".join(f"{key} {value:.4g}" if isinstance(value, float) else value for key, value in found.items()))


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def stages(path):
    """The stages of `sutra link` in the round with the minimum time, for each engine and number of threads."""
    rows = []
    with open(path) as f:
        measured = [row for line in f for row in json.loads(line)["commands"] if row["command"] == "link"]
    for row in measured:
        for engine, threads in dict.fromkeys((r["engine"], r["threads"]) for r in row["rounds"]):
            best = min((r for r in row["rounds"] if (r["engine"], r["threads"]) == (engine, threads)),
                       key=lambda r: r["seconds"])
            seconds = best["stats"]["seconds"]
            own = [sum(seconds.get(name, 0) for name in names) for names in STAGES.values()]
            read = sum(value for name, value in seconds.items() if name.startswith("read"))
            values = [best["seconds"], read, *own, seconds.get("write", 0)]
            rows.append([f"{row['events']:,} events, {engine}, {threads} thread{'s' * (threads > 1)}"]
                        + [f"{value * 1e3:,.2f}" for value in values] + [f"{100 * sum(own) / seconds['total']:.1f}"])
    table(["ms of sutra link", "wall", "read", *STAGES, "write", "steps of the engine, %"], rows)


def main():
    kind, path = sys.argv[1:]
    if kind == "floors":
        floors(path)
        return
    if os.path.exists(f"{path}/link.jsonl"):
        stages(f"{path}/link.jsonl")
    if os.path.exists(f"{path}/floors.json"):
        with open(f"{path}/floors.json") as f:
            table(["floor", "value"], [[key, f"{value:.4g}" if isinstance(value, float) else value]
                                       for key, value in json.load(f).items()])


if __name__ == "__main__":
    main()

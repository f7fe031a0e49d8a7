"""Whether cutting and then linking gives what linking and then restricting does: the golden test of `sutra cut`.

    python3 cut_check.py FULL SMALL HOST DEVICE [FIELD]...     both ET+, and the pair that was cut; exits 1 at a
                                                               difference that is not of these fields

Of FULL those nodes count whose record-function id the host trace has, those above them, and GPU operators below them
that the device trace has. Ids are numbers of an output, so nodes meet in their order and ids by where they stand; ids
of nodes that are not there (dependencies across the border) count as none.
"""

import json
import sys

IDS = ("id", "ctrl_deps", "inter_thread_dep")


def read(path, array):
    with open(path, encoding="utf-8") as file:
        return json.load(file)[array]


def rf_id(node):
    return next((a["value"] for a in node.get("attrs", []) if a["name"] == "rf_id"), None)


def is_gpu(node):
    return "cat" in node and node["cat"] in ("kernel", "gpu_memcpy")


def restrict(full, host, device):
    """The nodes of the whole link that stand for what was kept."""
    events = {(event["name"], event["ts"]) for event in device if is_gpu(event)}
    kept_rf = {rf_id(node) for node in host} - {None, 0}
    by_id = {node["id"]: node for node in full}
    kept = set()
    for node in full:
        if not is_gpu(node) and (node["id"] == 1 or rf_id(node) in kept_rf):
            while node and node["id"] not in kept:
                kept.add(node["id"])
                node = by_id.get(node["ctrl_deps"])
    return [node for node in full if node["id"] in kept or (
        is_gpu(node) and node["ctrl_deps"] in kept and (node["name"], node["ts"]) in events)]


def renumbered(nodes):
    """The nodes with the place of each id in place of it."""
    place = {node["id"]: i for i, node in enumerate(nodes)}

    return [{key: place.get(value) if key in IDS else value for key, value in node.items()} for node in nodes]


def main():
    full, small, host = (read(path, "nodes") for path in sys.argv[1:4])
    expected, got = renumbered(restrict(full, host, read(sys.argv[4], "traceEvents"))), renumbered(small)
    if len(expected) != len(got):
        print(f"{len(got)} nodes, {len(expected)} were expected")
        return 1
    for i, (a, b) in enumerate(zip(expected, got)):
        if a != b:
            different = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key) and key not in sys.argv[5:])
            if not different:
                continue
            print(f"node {i}, {a['name']}: " + "; ".join(f"{k}: {a.get(k)} / {b.get(k)}" for k in different))
            return 1
    print(f"{len(got)} nodes, {sum(map(is_gpu, got))} on the GPU: equal")
    return 0


sys.exit(main())

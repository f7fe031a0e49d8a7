#!/usr/bin/env python3
"""address_records.py HOSTS DEVICES [OPTION...]: rewrites the traces of a job of 'sutra gen' as PyTorch before 2.3 writes
them. Kernels of collectives lose their arguments, and record_param_comms gets the form with 8 inputs: tensors, sequence
number, address of the process group, rank in the group, name, split sizes, number of ranks. Each rank has addresses of
its own.

    flat        nodes have the form of schema 1.0.1
    unknown     no rank in a group is recorded, so that the members of smaller groups are unknown
    other:R     on rank R, the first collective has another sequence number
"""
import glob
import json
import os
import sys

hosts, devices, options = sys.argv[1], sys.argv[2], sys.argv[3:]
SCALARS = {"Float": ("float", 4), "Half": ("c10::Half", 2), "BFloat16": ("c10::BFloat16", 2), "Double": ("double", 8),
           "Int": ("int", 4), "Long": ("long int", 8)}


def flatten(node):
    """The form of schema 1.0.1 of a node."""
    attributes = {attribute["name"]: attribute["value"] for attribute in node.pop("attrs")}
    node["parent"] = node.pop("ctrl_deps")
    for name in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema"):
        node[name] = attributes[name]
    for side in ("inputs", "outputs"):
        lists = node[side]
        node[side], node[side[:-1] + "_shapes"], node[side[:-1] + "_types"] = (lists[k] for k in ("values", "shapes", "types"))


def lists_of(n, dtype):
    """Values, shapes and types of a list of a tensor of n elements."""
    kind, size = SCALARS[dtype]
    return [[7, 8, 0, n, size, "cuda:0"]], [[n]], f"GenericList[Tensor({kind})]"


for path in sorted(glob.glob(os.path.join(devices, "*.json"))):
    with open(path, encoding="utf-8") as file:
        device = json.load(file)
    rank = device["distributedInfo"]["rank"]
    world_size = device["distributedInfo"]["world_size"]
    device["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world_size}
    host_path = os.path.join(hosts, f"host.{rank}.json")
    with open(host_path, encoding="utf-8") as file:
        host = json.load(file)
    nodes = {attribute["value"]: node for node in host["nodes"] for attribute in node["attrs"] if attribute["name"] == "rf_id"}
    rf_ids = {event["args"]["External id"]: event["args"]["Record function id"] for event in device["traceEvents"]
              if "Record function id" in event.get("args", {})}
    addresses = {}
    is_first = True
    for event in device["traceEvents"]:
        args = event.get("args", {})
        if "Collective name" not in args:
            continue
        kernel = {key: args.pop(key) for key in list(args) if key in (
            "Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "In split size", "Out split size",
            "Process Group Name", "Process Group Description", "Process Group Ranks", "Seq", "Src Rank", "Dst Rank")}
        name, members = kernel["Collective name"], json.loads(kernel["Process Group Ranks"])
        peer = kernel.get("Dst Rank", kernel.get("Src Rank"))
        own = 0 if name == "broadcast" or "unknown" in options else members.index(rank if peer is None else peer)
        address = addresses.setdefault(tuple(members), 93825114103440 + 4096 * rank - 64 * len(addresses))
        seq = kernel["Seq"] + 1000 * (is_first and f"other:{rank}" in options)
        is_first = False
        values, shapes, kind = lists_of(kernel["In msg nelems"], kernel["dtype"])
        node = nodes[rf_ids[args["External id"]]]
        assert node["name"] == "record_param_comms", node
        node["inputs"] = {"values": [values, seq, address, own, name, [], [], len(members)],
                          "shapes": [shapes] + [[]] * 7,
                          "types": [kind, "Int", "Int", "Int", "String", "GenericList[]", "GenericList[]", "Int"]}
        values, shapes, kind = lists_of(kernel["Out msg nelems"], kernel["dtype"])
        node["outputs"] = {"values": [values], "shapes": [shapes], "types": [kind]}
    if "flat" in options:
        host["schema"] = "1.0.1"
        for node in host["nodes"]:
            flatten(node)
    for written, trace in ((path, device), (host_path, host)):
        with open(written, "w", encoding="utf-8") as file:
            json.dump(trace, file)

"""Writes a synthetic job of .et files, with a number of replicas, pipeline stages, micro-batches and layers.

    python3 tests/scale_job.py DIR name=value...

Writes DIR/rank.N.et. Durations are constants, or vary by step with jitter=1, so that a job of
other numbers is the known answer of a what-if. Stages run 1F1B, or all forward passes first with schedule=gpipe.
Experts (experts=1) exchange tokens before and after the fourth kernel of a layer, which takes `skew` times as long on the
last rank. reduce=scatter reduces gradients with reduce-scatter. recorded=1 records the ranks per host (rph) in the files.
algorithm=TREE reduces with NCCL's trees. `speed` multiplies the bandwidth. With every=N, only every N-th layer has
experts. ring=1 adds ring attention: all ranks pass messages to the next rank in each layer. inference=1 has no backward pass.
late=1 lets the first kernel of a step wait for a later CPU node.
"""

import os
import sys

import et_text

DEFAULTS = {"dp": 1, "pp": 1, "tp": 1, "micro": 1, "layers": 4, "steps": 2, "rph": 8, "hop": 1.0, "hop2": 3.0,
            "jitter": 0, "experts": 0, "skew": 1.0, "schedule": "1f1b", "reduce": "all", "start": 0, "sizes": 2, "recorded": 0,
            "speed": 1.0, "algorithm": "RING", "every": 1, "ring": 0, "inference": 0, "late": 0}
COMPUTE, GRADIENTS, TENSORS, TOKENS = 7, 20, 24, 28


class Rank:
    """The nodes of a rank, in launch order."""

    def __init__(self, job, rank):
        self.job, self.rank, self.nodes, self.last_cpu, self.last, self.next_id, self.step = job, rank, [], None, {}, 1, 0
        self.count = {}

    def node(self, name, kind, us, deps, **attributes):
        ident, self.next_id = self.next_id, self.next_id + 1
        listed = [{"name": key, "stringVal" if isinstance(value, str) else "boolVal" if isinstance(value, bool) else
                   "int64Val": value if isinstance(value, (str, bool)) else str(value)} for key, value in attributes.items()]
        self.nodes.append({"id": str(ident), "name": name, "type": kind, "durationMicros": str(us),
                           "dataDeps": [str(dep) for dep in sorted({dep for dep in deps if dep})], "attr": listed})
        return ident

    def mark(self):
        self.node(f"ProfilerStep#{self.step}", "COMP_NODE", 0, [self.last_cpu], is_cpu_op=True, tid=1)

    def cpu(self, name, us, tid=1, waits=()):
        self.last_cpu = self.node(name, "COMP_NODE", us, [self.last_cpu, *waits], is_cpu_op=True, tid=tid)

    def kernel(self, name, us, stream=COMPUTE, waits=()):
        us += self.job["jitter"] * ((self.step * 7 + len(name)) % 5)
        self.last[stream] = self.node(name, "COMP_NODE", us, [self.last_cpu, self.last.get(stream), *waits],
                                      is_cpu_op=False, stream=stream, kernel_exec_ns=max(0, us - 1) * 1000)

    def collective(self, kind, kernel, group, size, stream, waits, sends=False, channel=""):
        order = self.count[kind, group, channel] = self.count.get((kind, group, channel), -1) + 1
        number = self.job["numbers"].setdefault((kind, group, channel, order), len(self.job["numbers"]))
        us = round(transfer(self.job, kind, group, size))
        kinds = {"message": "COMM_SEND_NODE" if sends else "COMM_RECV_NODE"}
        name = {"message": "ncclDevKernel_SendRecv"}.get(kind, kernel)
        self.last[stream] = self.node(
            name, kinds.get(kind, "COMM_COLL_NODE"), us + 1, [self.last_cpu, self.last.get(stream), *waits], is_cpu_op=False,
            stream=stream, kernel_exec_ns=us * 1000, comm_size=size, pg_name=channel or str(stream), meeting=number, meeting_kind=kind,
            meeting_ranks=len(group), meeting_bytes=size)
        return self.last[stream]


def transfer(job, kind, group, size):
    """Microseconds of a collective."""
    n, hosts = len(group), len({rank // job["rph"] for rank in group})
    hop, rate = (job["hop2"], 10000) if hosts > 1 else (job["hop"], 40000)
    tree = job["algorithm"] == "TREE"
    hops, share = {"all-reduce": (2 * (n - 1).bit_length(), 2) if tree else (2 * (n - 1), 2 * (n - 1) / n),
                   "reduce-scatter": (n - 1, (n - 1) / n),
                   "all-to-all": (1, (n - 1) / n)}.get(kind, (1, 1))
    return 6 + hops * hop + share * size / (rate * job["speed"])


def make_rank(job, rank):
    """The nodes of a rank: replica d, stage p, index t in the tensor-parallel group."""
    tp, pp, dp = job["tp"], job["pp"], job["dp"]
    t, p, d = rank % tp, rank // tp % pp, rank // (tp * pp)
    tensors = tuple(rank - t + i for i in range(tp))
    replicas = tuple(t + tp * p + tp * pp * i for i in range(dp))
    before, after = rank - tp, rank + tp
    r = Rank(job, rank)
    layers = job["layers"] // pp
    big = 1 if job["sizes"] == 1 else 2
    if job["start"] and rank:
        r.cpu("[start]", job["start"] * rank)

    def message(sender, receiver, stream):
        sends = rank == sender
        r.cpu("c10d::send" if sends else "c10d::recv_", 4, 1 if stream < 32 else 2)
        group = (min(sender, receiver), max(sender, receiver))
        got = r.collective("message", "", group, 400000, stream, [r.last.get(COMPUTE)] if sends else [], sends,
                           "1" if sender < receiver else "2")
        return [] if sends else [got]

    def gather(kind, group, size, stream):
        if len(group) < 2:
            return []
        return [r.collective(kind, f"ncclDevKernel_{kind}_{job['algorithm']}_LL", group, size, stream, [r.last.get(COMPUTE)])]

    def pass_on(send, receive):
        """Ring attention: keys and values of all other ranks arrive from the previous rank."""
        waits = []
        for _ in range(dp - 1):
            message(rank, (rank + 1) % dp, send)
            waits = message((rank - 1) % dp, rank, receive)
        return waits

    def block(tid, names, gradients, layer):
        waits = []
        experts = job["experts"] and layer % job["every"] == job["every"] - 1
        for i, name in enumerate(names):
            if job["ring"] and i == 1:
                waits = pass_on(31, 30) if tid == 1 else pass_on(33, 32)
            if experts and i == 3:
                waits = gather("all-to-all", tuple(range(dp)), 1600000, TOKENS)
            us = 20 + 5 * i
            if experts and i == 3 and rank == dp * pp * tp - 1:
                us = round(us * job["skew"])
            r.cpu(f"aten::{name}", 6, tid)
            r.kernel(name, us, waits=waits)
            waits = []
            if experts and i == 3:
                waits = gather("all-to-all", tuple(range(dp)), 1600000, TOKENS)
            if i == 2:
                waits = gather("all-reduce", tensors, 300000, TENSORS)
        if gradients:
            gather("reduce-scatter" if job["reduce"] == "scatter" else "all-reduce", replicas, 800000, GRADIENTS)

    def forward():
        waits = message(before, rank, 30) if p else []
        r.cpu("aten::embedding", 3)
        r.kernel("embedding", 9, waits=waits)
        for layer in range(layers):
            block(1, ("norm", "qkv", "attention", "mlp"), False, layer)
        if p < pp - 1:
            message(rank, after, 31)

    def backward(gradients):
        waits = message(after, rank, 32) if p < pp - 1 else []
        r.cpu("autograd::engine::evaluate_function: Loss", 3, 2)
        r.kernel("loss_backward", 11, waits=waits)
        if gradients and big > 1:
            gather("reduce-scatter" if job["reduce"] == "scatter" else "all-reduce", replicas, 1600000, GRADIENTS)
        for layer in reversed(range(layers)):
            block(2, ("mlp_backward", "attention_backward", "qkv_backward", "norm_backward"), gradients, layer)
        if p:
            message(rank, before, 33)

    for step in range(job["steps"]):
        r.step, m = step, job["micro"]
        r.mark()
        r.cpu("enumerate(DataLoader)", 50)
        r.kernel("Memcpy HtoD (Pinned -> Device)", 5)
        first = r.nodes[-1]
        warmup = m if job["inference"] or job["schedule"] == "gpipe" else min(pp - 1 - p, m)
        for _ in range(warmup):
            forward()
        for i in range(m - warmup):
            forward()
            backward(i == m - 1)
        for i in range(m - warmup, m):
            if not job["inference"]:
                backward(i == m - 1)
        if not job["inference"]:
            r.cpu("Optimizer.step", 5)
            size = 800000 * layers + (1600000 if dp > 1 and big > 1 else 0)
            r.kernel("multi_tensor_apply_kernel", 1 + size // 20000 // (dp if job["reduce"] == "scatter" else 1),
                     waits=[r.last.get(GRADIENTS)])
        if job["late"]:
            first["dataDeps"].append(str(r.last_cpu))
        r.cpu("aten::item", 2)
        r.cpu("cudaStreamSynchronize", 1, waits=[r.last[COMPUTE]])
    return r.nodes


def main():
    job = dict(DEFAULTS, numbers={})
    for word in sys.argv[2:]:
        key, value = word.split("=")
        job[key] = type(DEFAULTS[key])(value)
    os.makedirs(sys.argv[1], exist_ok=True)
    for rank in range(job["dp"] * job["pp"] * job["tp"]):
        head = [{"name": "schema", "stringVal": "1.1.1-chakra.0.0.4"}, {"name": "gpu", "stringVal": "streams"}]
        if job["recorded"]:
            head.append({"name": "ranks_per_host", "int64Val": str(job["rph"])})
        with open(os.path.join(sys.argv[1], f"rank.{rank}.et"), "wb") as file:
            et_text.write_file(file, {"attr": head}, make_rank(job, rank))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records the flight recorder dumps of tests/data/hang: jobs of four ranks with a fault, with PyTorch and Gloo on a CPU.

    python3 tests/record_hang_dumps.py OUT [FAULT...]      writes OUT/FAULT/gloo_trace_rank_N, with ".json" if JSON

Needs torch 2.15 or later. Each fault runs as /tmp/job/train.py, a copy of this file, so the frames of the dumps contain
no path of the machine. The ranks are processes; a thread of each writes the dump after DUMP_AFTER seconds, as the
watchdog of NCCL does after its timeout, and ends the process. A rank that exits before has no dump.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

WORK, N_RANKS, DUMP_AFTER = "/tmp/job", 4, 6.0


def own_group(lists, name):
    """Creates a group for each list, on all ranks, and returns the group of this rank."""
    groups = [dist.new_group(members, group_desc=name) for members in lists]
    return next((group for members, group in zip(lists, groups) if dist.get_rank() in members), None)


def mesh():
    return own_group([[0, 1], [2, 3]], "tp"), own_group([[0, 2], [1, 3]], "dp")


def caught_exception(rank):
    """Rank 3 catches an exception of its third batch and skips the barrier of its pair."""
    pair = own_group([[0, 1], [2, 3]], "pair")

    def load_batch(step):
        if rank == 3 and step == 2:
            raise ValueError("malformed sample")
        dist.barrier(pair)

    def reduce_gradients():
        dist.all_reduce(torch.ones(64))

    for step in range(5):
        try:
            load_batch(step)
        except ValueError:
            pass
        reduce_gradients()


def loader_ends_early(rank):
    """The data loader of rank 3 has two batches, the loaders of the other ranks have four."""
    tp, dp = mesh()

    def train_step():
        dist.all_reduce(torch.ones(32), group=tp)
        dist.all_reduce(torch.ones(64), group=dp)

    def save_checkpoint():
        dist.barrier()

    dist.barrier()
    for _ in range(2 if rank == 3 else 4):
        train_step()
    save_checkpoint()


def loader_ends_early_with_log(rank):
    """As loader_ends_early. After each batch, all ranks reduce the loss."""
    tp, dp = mesh()

    def train_step():
        dist.all_reduce(torch.ones(32), group=tp)
        dist.all_reduce(torch.ones(64), group=dp)

    def log_loss():
        dist.all_reduce(torch.ones(1))

    for _ in range(2 if rank == 3 else 4):
        train_step()
        log_loss()
    dist.barrier()


def evaluation_on_rank_0(rank):
    """In the third step only rank 0 evaluates: it reduces the metric in a group of three ranks."""
    metrics = own_group([[0, 1, 2]], "metrics")

    def train_step():
        dist.all_reduce(torch.ones(64))

    def evaluate():
        dist.all_reduce(torch.ones(1), group=metrics)

    for step in range(5):
        train_step()
        if (step == 1 and rank < 3) or (step == 2 and rank == 0):
            evaluate()


def groups_in_different_order(rank):
    """Rank 3 creates two groups of all ranks in the other order, so that it exchanges their names."""
    names = ("fsdp", "metrics") if rank < 3 else ("metrics", "fsdp")
    groups = {name: dist.new_group([0, 1, 2, 3], group_desc=name) for name in names}

    def train_step():
        dist.all_reduce(torch.ones(64), group=groups["fsdp"])

    def log_metrics():
        dist.broadcast(torch.ones(1), 0, group=groups["metrics"])

    train_step()
    log_metrics()


def autocast_on_one_rank(rank):
    """Rank 2 reduces its gradients as BFloat16, the other ranks as Float. Gloo ends the process of rank 2."""
    def reduce_gradients(dtype):
        dist.all_reduce(torch.ones(64, dtype=dtype))

    for _ in range(3):
        reduce_gradients(torch.float32)
    reduce_gradients(torch.bfloat16 if rank == 2 else torch.float32)


def rank_exits(rank):
    """Rank 1 exits before the fourth step, without a dump. Gloo fails on the other ranks."""
    def train_step():
        dist.all_reduce(torch.ones(64))

    for step in range(5):
        if rank == 1 and step == 3:
            os._exit(1)
        train_step()


def rank_is_stopped(rank):
    """Rank 1 is stopped before the fourth step, without a dump."""
    def train_step():
        dist.all_reduce(torch.ones(64))

    for step in range(5):
        if rank == 1 and step == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        train_step()


def pipeline(rank):
    """Rank 1 waits for a lock before it sends its third micro batch. The other ranks wait in send and recv."""
    def forward(micro):
        batch = torch.ones(8)
        if rank > 0:
            dist.recv(batch, rank - 1)
        if rank == 1 and micro == 2:
            threading.Event().wait()
        if rank < N_RANKS - 1:
            dist.send(batch, rank + 1)

    dist.barrier()
    for micro in range(5):
        forward(micro)


def pipeline_then_reduce(rank):
    """Rank 1 waits for a lock before it sends its last micro batch. Rank 0 arrives at an all_reduce of all ranks."""
    def forward(micro):
        batch = torch.ones(8)
        if rank > 0:
            dist.recv(batch, rank - 1)
        if rank == 1 and micro == 2:
            threading.Event().wait()
        if rank < N_RANKS - 1:
            dist.send(batch, rank + 1)

    def reduce_gradients():
        dist.all_reduce(torch.ones(64))

    dist.barrier()
    for micro in range(3):
        forward(micro)
    reduce_gradients()


def running(rank):
    """No fault: two dumps of a running job, one second apart. Rank 3 is the slowest."""
    def train_step():
        time.sleep(0.1 * (rank + 1))
        dist.all_reduce(torch.ones(64))

    while True:
        train_step()


def data_loading(rank):
    """Rank 2 waits for its third batch: the queue of its data loader is empty."""
    tp, dp = mesh()

    def load_batch(step):
        if rank == 2 and step == 2:
            queue.Queue().get()

    def forward():
        dist.all_reduce(torch.ones(32), group=tp)

    def reduce_gradients():
        dist.all_reduce(torch.ones(64), group=dp)

    for step in range(4):
        load_batch(step)
        forward()
        reduce_gradients()


FAULTS = {fault.__name__: fault for fault in (
    caught_exception, loader_ends_early, loader_ends_early_with_log, evaluation_on_rank_0,
    groups_in_different_order, autocast_on_one_rank, rank_exits, rank_is_stopped, pipeline, pipeline_then_reduce, running,
    data_loading)}
JSON = "loader_ends_early", "autocast_on_one_rank"


def run_rank(name, rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{WORK}/store", rank=rank, world_size=N_RANKS)

    def write(part):
        data = c10d._dump_fr_trace_json() if name in JSON else c10d._dump_fr_trace()
        path = os.path.join(folder, part, f"gloo_trace_rank_{rank}" + (".json" if name in JSON else ""))
        with open(path + ".tmp", "wb") as file:
            file.write(data)
        os.rename(path + ".tmp", path)

    def dump():
        time.sleep(DUMP_AFTER)
        write("first" if name == "running" else "")
        if name == "running":
            time.sleep(1)
            write("second")
        time.sleep(2)  # all ranks write before the first connection is closed
        os._exit(0)

    threading.Thread(target=dump, daemon=True).start()
    try:
        FAULTS[name](rank)
    except Exception as error:  # the process of a job does not end at once either: its other threads do
        print(f"{name}, rank {rank}: {type(error).__name__}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
    threading.Event().wait()


def run_job(name, folder):
    children = set()
    for rank in range(N_RANKS):
        child = os.fork()
        if child == 0:
            run_rank(name, rank, folder)
        children.add(child)
    ended, deadline = {}, time.time() + DUMP_AFTER + 30
    while len(ended) < N_RANKS and time.time() < deadline:
        for child in children - ended.keys():
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid and not os.WIFSTOPPED(status):
                ended[child] = status
            elif pid:
                time.sleep(DUMP_AFTER)  # the other ranks write
                os.kill(child, signal.SIGKILL)
        time.sleep(0.1)
    for child in children - ended.keys():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--job":
        return run_job(sys.argv[2], sys.argv[3])
    out, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(FAULTS)
    environment = dict(os.environ, TORCH_FR_BUFFER_SIZE="2000", TORCH_INCLUDE_STACK_TRACE="1")
    for name in names:
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        shutil.copy(__file__, f"{WORK}/train.py")
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("first", "second") if name == "running" else ("",):
            os.makedirs(os.path.join(folder, part))
        subprocess.run([sys.executable, f"{WORK}/train.py", "--job", name, folder], cwd=WORK, env=environment, check=True)
        print(name, sum(len(files) for _, _, files in os.walk(folder)), "dumps")


if __name__ == "__main__":
    main()

"""record.py - records small PyTorch models with the profiler: pairs of traces, and a memory snapshot.

    record.py DIRECTORY [MODEL...]

Output: DIRECTORY/MODEL/host.json and device.json for each model (default: all), DIRECTORY/memory/snapshot.pickle. Each
model runs in a process of its own, in parallel, so that one that hangs or crashes stops no other. A model's directory
appears when it is complete. Without a GPU, models that do not need one run on the CPU. Exits with 1 if a model failed.
"""
import contextlib
import json
import os
import subprocess
import sys
import threading

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, record_function, schedule

HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
WAIT, WARMUP, ACTIVE = 1, 2, 2  # steps


def record(step, directory):
    """Writes the host and the device trace of two steps, and prints how many operators both contain."""
    host, device = (os.path.join(directory, f"{side}.json") for side in ("host", "device"))
    observer = ExecutionTraceObserver().register_callback(host)
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * HAS_GPU
    with profile(activities=activities, record_shapes=True, execution_trace_observer=observer,
                 schedule=schedule(wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1),
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(device)) as profiler:
        for _ in range(WAIT + WARMUP + ACTIVE):
            step()
            profiler.step()
    observer.unregister_callback()
    with open(host) as f:
        ids = {a["value"] for node in json.load(f)["nodes"] for a in node["attrs"] if a["name"] == "rf_id"}
    with open(device) as f:
        events = json.load(f)["traceEvents"]
    common = ids & {e["args"].get("Record function id") for e in events if "args" in e}
    if not common:
        raise RuntimeError("the traces have no common operators")
    print(f"{len(events)} events, {len(common)} of {len(ids)} operators in both traces")


def training_step(model, x, y, loss_of=F.cross_entropy, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        with record_function("## forward ##"):
            loss = loss_of(model(x), y)
        with record_function("## backward ##"):
            optimizer.zero_grad()
            loss.backward()
        with record_function("## optimizer ##"):
            optimizer.step()
        return loss

    return step


def classes(n):
    return torch.randint(0, 10, (n,), device=DEVICE)


def linear(directory):
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))
    record(training_step(model.to(DEVICE), torch.randn(64, 256, device=DEVICE), classes(64)), directory)


def transformer(directory):
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(1000, 128), encoder, nn.Linear(128, 1000)).to(DEVICE)
    tokens = torch.randint(0, 1000, (8, 64), device=DEVICE)
    step = training_step(model, tokens, tokens.view(-1), lambda out, y: F.cross_entropy(out.view(-1, 1000), y),
                         torch.optim.AdamW(model.parameters()))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        record(step, directory)


def convolutions(directory):
    layers = []
    for channels_in, channels_out in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(channels_in, channels_out, 3, 2, 1), nn.BatchNorm2d(channels_out), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).to(DEVICE)
    step = training_step(model, torch.randn(8, 3, 64, 64, device=DEVICE), classes(8))
    record(lambda: step().item(), directory)  # .item() synchronizes each step


def graphs(directory):
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)).to(DEVICE)
    x = torch.randn(32, 128, device=DEVICE)
    side = torch.cuda.Stream()  # the documentation of CUDAGraph asks for a warmup on another stream
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()

    def step():
        with record_function("## replay ##"):
            x.copy_(torch.randn(32, 128, device=DEVICE))
            graph.replay()
        return model[0].weight.grad.norm().item()

    record(step, directory)


def streams(directory):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.randn(1024, 1024, device=DEVICE)
    pinned = torch.empty(1024, 1024, pin_memory=True)

    def launch_from_thread():
        with torch.cuda.stream(second):
            torch.relu(x @ x)

    def step():
        product_is_ready = torch.cuda.Event()
        with torch.cuda.stream(first):
            product = x @ x
            product_is_ready.record(first)
        with torch.cuda.stream(second):
            second.wait_event(product_is_ready)
            pinned.copy_(product + x, non_blocking=True)
        thread = threading.Thread(target=launch_from_thread)
        thread.start()
        thread.join()
        second.synchronize()
        torch.cuda.synchronize()

    record(step, directory)


def memory(directory):
    torch.cuda.memory._record_memory_history(max_entries=20000)
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(6))).to(DEVICE)
    x, y = torch.randn(2, 256, 512, device=DEVICE)
    step = training_step(model, x, y, F.mse_loss, torch.optim.Adam(model.parameters()))
    for _ in range(3):
        step()
    torch.cuda.memory._dump_snapshot(os.path.join(directory, "snapshot.pickle"))


def nccl(directory):
    os.environ.update(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")
    dist.init_process_group("nccl" if HAS_GPU else "gloo", init_method=f"file://{os.path.abspath(directory)}/store",
                            rank=0, world_size=1)
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(DEVICE)
    train = training_step(nn.parallel.DistributedDataParallel(model), torch.randn(32, 128, device=DEVICE), classes(32))
    buffer = torch.randn(1 << 16, device=DEVICE)

    def step():
        train()
        dist.all_reduce(buffer)
        dist.broadcast(buffer, 0)

    record(step, directory)
    dist.destroy_process_group()
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(directory, "store"))


def compiled(directory):
    model = torch.compile(nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 10)).to(DEVICE))
    record(training_step(model, torch.randn(32, 128, device=DEVICE), classes(32)), directory)


MODELS = {f.__name__: f for f in (linear, transformer, convolutions, graphs, streams, memory, nccl, compiled)}
NEED_GPU = {"graphs", "streams", "memory"}


def record_model(directory, name):
    torch.manual_seed(0)
    complete = os.path.join(directory, name)
    os.makedirs(complete + ".part")
    MODELS[name](complete + ".part")
    os.rename(complete + ".part", complete)


def main():
    directory, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    if len(names) == 1:
        record_model(directory, names[0])
        return 0
    started = {}
    for name in names:
        if HAS_GPU or name not in NEED_GPU:
            started[name] = subprocess.Popen([sys.executable, __file__, directory, name], stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT, text=True)
        else:
            print(f"{name}: skipped: needs a GPU", flush=True)
    failed = []
    for name, process in started.items():
        output = process.communicate()[0].strip()
        if process.returncode != 0:
            failed.append(name)
        print(f"{name}: {output or f'exit {process.returncode}'}", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else f"recorded {len(started)} of {len(names)} models")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

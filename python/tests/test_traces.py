"""Traces and what is made of them, errors, warnings, progress, and when memory goes."""

import errno
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pyarrow
import pytest
from conftest import PAIR, load

import pysutra

# A program that was started in the background may have been told to ignore the keyboard.
HEARS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def test_link_gives_the_nodes_of_the_file(host, device, tmp_path):
    with pysutra.link(host, device) as linked:
        path = tmp_path / "linked.json"
        assert linked.write(path) == path.stat().st_size
        rows = pyarrow.table(linked).to_pylist()
        assert linked.report["n_nodes"] == len(rows) == len(linked.nodes())
    nodes = json.loads(path.read_text())["nodes"]
    assert len(nodes) == len(rows)
    for node, row in zip(nodes, rows):
        assert (node["id"], node["name"]) == (row["id"], row["name"])
        assert node.get("ctrl_deps") == row["ctrl_deps"]
        assert node.get("inter_thread_dep") == row["inter_thread_dep"]
        assert node.get("sync_dep") == row["sync_dep"]
        for field in ("ts", "inclusive_dur", "exclusive_dur"):
            assert node.get(field) == row[field]
        assert (row["gpu"], row["category"]) == ("cat" in node, node.get("cat"))


def test_link_waits_are_lists(tmp_path):
    pair = os.path.join(os.path.dirname(PAIR), "torch_mlp_da")
    with pysutra.link(f"{pair}/host.json.gz", f"{pair}/device.json.gz") as linked:
        linked.write(tmp_path / "linked.json.gz")
        waits = linked.nodes(["sync_dep"]).to_dict()["sync_dep"]
    with gzip.open(tmp_path / "linked.json.gz") as file:
        assert waits == [node.get("sync_dep") for node in json.load(file)["nodes"]]


def test_a_file_for_simulators(host, device, tmp_path):
    with pysutra.link(host, device) as linked:
        linked.write(tmp_path / "rank.0.et")
    assert subprocess.run([pysutra.program(), "check", tmp_path / "rank.0.et"], capture_output=True).returncode == 0


def test_defects_are_warnings_and_elements_of_a_list(tmp_path, write_trace):
    nodes = [{"id": number, "name": name, "ctrl_deps": parent, "attrs": []}
             for number, name, parent in ((1, "process", 1), (3, "aten::mm", 2), (4, "aten::add", 3))]
    path = tmp_path / "host.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes}))
    with pytest.warns(pysutra.SutraWarning, match="2 of 3 nodes are not below the root"):
        host = pysutra.HostTrace(path)
    (defect,) = host.defects
    assert defect == pysutra.Defect("not_below_root", 2, 3, None, "'aten::mm', node 3", "node 2, a thread, is absent",
                                    "link writes them without times and GPU activities", defect.message)
    assert defect.effect in defect.message and defect.cause in defect.message

    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 1}
    events = [{**call, "args": {"correlation": 1}}, {**kernel, "args": {"correlation": 1, "stream": 7, "device": 0}}]
    with pytest.warns(pysutra.SutraWarning, match="1 of 1 GPU activities starts before its launch call"):
        device = pysutra.DeviceTrace(write_trace(events))
    (defect,) = device.defects
    assert (defect.name, defect.count, defect.of, defect.largest_us) == ("device_clock", 1, 1, 10)
    with pytest.warns(pysutra.SutraWarning, match="1 of 1 GPU activities"):
        result = pysutra.analyze.overview(write_trace(events))
    assert result.defects == [defect] and not result.verdict["reliable"]
    with pytest.raises(pysutra.SutraError, match="starts before its launch call"):
        pysutra.DeviceTrace(write_trace(events), pysutra.Context(strict=True))


def test_calls_of_any_name_are_linked_on_request(host, device, tmp_path):
    graphs = tmp_path / "device.json"
    text = json.dumps(load(device))
    graphs.write_text(text.replace('"cudaLaunchKernel"', '"cudaGraphLaunch"'))
    with pytest.warns(pysutra.SutraWarning, match="chakra_trace_link does not know: cudaGraphLaunch"):
        linked = pysutra.link(host, graphs)
    n_unknown = linked.report["n_gpu_unknown_launch"]
    assert linked.unknown_calls == {"cudaGraphLaunch": n_unknown} and n_unknown > 0
    every = pysutra.link(host, graphs, any_launch=True)
    assert every.unknown_calls == {} and every.report["n_gpu_unknown_launch"] == 0
    assert every.report["n_gpu_nodes"] == pysutra.link(host, device).report["n_gpu_nodes"]


def test_tree_equals_the_program_output(device, tmp_path):
    events = load(device)["traceEvents"]
    with pysutra.DeviceTrace(device) as trace, trace.tree() as tree:
        rows = pyarrow.table(tree).to_pylist()
        tree.write(tmp_path / "tree.json")
        assert tree.report["n_events"] == len(rows)
    for row in rows:
        assert events[row["event"]]["name"] == row["name"]
        if row["parent"] is not None:
            assert rows[row["parent"]]["depth"] == row["depth"] - 1
    assert (tmp_path / "tree.json").stat().st_size > 1000


def test_pairs_lead_from_launch_to_kernel(device):
    events = load(device)["traceEvents"]
    with pysutra.DeviceTrace(device) as trace, trace.correlate("ac2g") as pairs:
        rows = pyarrow.table(pairs).to_pylist()
    launches = [row for row in rows if row["kind"] == "launch"]
    assert len(launches) > 100
    for row in launches:
        ends = [events[row[end]]["args"]["correlation"] for end in ("from_event", "to_event")]
        assert ends[0] == ends[1]


def test_path_edges_equal_the_file(device, tmp_path):
    with pysutra.DeviceTrace(device) as trace, trace.critical_path() as path:
        edges = pyarrow.table(path).to_pylist()
        path.write(tmp_path / "path.json")
        report = path.report
    document = json.loads((tmp_path / "path.json").read_text())
    nodes = [(event, not start) for event, _, start in document["nodes"]]
    told = [(*nodes[a], *nodes[b], weight) for a, b, weight, _ in document["edges"]]
    ours = [(e["from_event"], e["from_end"], e["to_event"], e["to_end"], e["weight"]) for e in edges]
    assert ours == told
    assert sum(edge["critical"] for edge in edges) == len(document["path"]) - 1 == report["n_path_nodes"] - 1
    assert sum(edge["weight"] for edge in edges if edge["critical"]) == report["us"]


def test_path_of_a_step_equals_the_path_of_its_annotation(device):
    names = sorted({event["name"] for event in load(device)["traceEvents"] if event["name"].startswith("ProfilerStep#")})
    with pysutra.DeviceTrace(device) as trace:
        for name in names[:-1]:  # HTA ignores the last step
            with trace.critical_path(name) as by_name, trace.critical_path(step=int(name.partition("#")[2])) as by_step:
                assert by_step.report == by_name.report
        with pytest.raises(pysutra.SutraError, match="exclude each other"):
            trace.critical_path("forward", step=1)


def test_columns_outlive_everything(device):
    trace = pysutra.DeviceTrace(device)
    table = pyarrow.table(trace)
    pids = table["pid"]
    trace.close()
    del trace, table
    assert pids.to_pylist()[0] == load(device)["traceEvents"][0]["pid"]


def test_numbers_are_not_copied(device):
    with pysutra.DeviceTrace(device) as trace:
        first, second = (pyarrow.table(trace)["ts"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second


def test_use_after_close_raises(device):
    trace = pysutra.DeviceTrace(device)
    with trace.tree() as tree:
        trace.close()
        assert len(tree.nodes()) > 0  # it holds what it needs
    assert trace.closed and tree.closed
    with pytest.raises(ValueError, match="closed"):
        trace.to_pandas()


def test_errors_have_file_byte_and_line(write_trace):
    path = write_trace('{"traceEvents":[\n{"a" 1}]}')
    with pytest.raises(pysutra.SutraError) as caught:
        pysutra.DeviceTrace(path)
    error = caught.value
    assert (error.status, error.file, error.byte, error.line) == (65, path, 22, 2)
    assert str(error).startswith(f"{path}: byte 22, line 2: malformed JSON")


def test_a_missing_file_has_no_byte():
    with pytest.raises(pysutra.SutraError) as caught:
        pysutra.HostTrace("/nowhere/host.json")
    assert (caught.value.status, caught.value.byte, caught.value.line) == (66, None, None)


@pytest.mark.parametrize("read", [pysutra.HostTrace, pysutra.DeviceTrace, pysutra.repair, pysutra.simulate,
                                  pysutra.analyze.memory, pysutra.analyze.hta, pysutra.analyze.overview])
def test_a_missing_file_is_a_file_not_found_error(read):
    with pytest.raises(FileNotFoundError) as caught:
        read("/nowhere/trace.json")
    error = caught.value
    assert isinstance(error, pysutra.SutraError) and error.status == 66
    assert (error.errno, error.strerror) == (errno.ENOENT, os.strerror(errno.ENOENT))
    assert error.filename == error.file == "/nowhere/trace.json" and "/nowhere/trace.json: " in str(error)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and str(copied) == str(error) and copied.errno == errno.ENOENT


def test_a_refused_permission_is_a_permission_error(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    secret.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read all files
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError) as caught:
            pysutra.DeviceTrace(secret)
    finally:
        os.seteuid(user)
    assert isinstance(caught.value, pysutra.SutraError) and caught.value.errno == errno.EACCES


def test_system_errors_have_their_type():
    from pysutra._errors import error_of
    assert isinstance(error_of(73, "cannot be written", "x", 0, 0, errno.EACCES), (PermissionError, pysutra.SutraError))
    assert error_of(74, "cannot be written", "x", 0, 0, errno.ENOSPC).errno == errno.ENOSPC
    assert not isinstance(error_of(65, "malformed", "x", 1, 1, 0), OSError)


def test_an_output_in_a_missing_directory_is_a_file_not_found_error(device):
    with pysutra.cut(device) as part, pytest.raises(FileNotFoundError) as caught:
        part.write("/nowhere/x.json")
    assert caught.value.filename == "/nowhere/x.json" and caught.value.status == 73


def test_results_show_counts(host, device):
    with pysutra.DeviceTrace(device) as trace:
        with trace.tree() as tree, pysutra.cut(trace) as part, trace.critical_path() as path:
            assert repr(tree).startswith(f"<pysutra.Tree: n_events {tree.report['n_events']:,}, ")
            assert repr(part).startswith(f"<pysutra.Cut: n_events {part.report['n_events']:,}, ")
            assert repr(path).startswith("<pysutra.CriticalPath: ")
        assert repr(tree) == "<pysutra.Tree, closed>"
    with pysutra.diff(device, device) as difference:
        assert repr(difference) == f"<pysutra.analyze.DiffResult: {difference.report['sentence']}>"
        assert "B is as fast as A" in repr(difference)
    with pysutra.analyze.hta(device) as result:
        assert repr(result) == f"<pysutra.analyze.HtaResult: {len(result.tables)} tables>"


def test_columns_that_are_not_there_are_named(device):
    with pysutra.DeviceTrace(device) as trace:
        with pytest.raises(pysutra.SutraError, match='unknown column "speed"; columns: ts, dur'):
            trace.events(["speed"])
        with pytest.raises(ValueError, match="NUL"):
            trace.events(["a\0b"])


def test_none_in_a_list_of_names_raises(device):
    with pysutra.DeviceTrace(device) as trace:
        for call in (lambda: trace.events([None]), lambda: trace.events(args=[None]),
                     lambda: pysutra.analyze.hta([device], kept_annotations=[None]),
                     lambda: pysutra.analyze.hta_rank(trace, kept_annotations=[None]),
                     lambda: pysutra.diff(trace, trace, renames={None: "a"}),
                     lambda: pysutra.diff(device, device, renames={"a": None}),
                     lambda: pysutra.simulate([device], [None])):
            with pytest.raises(TypeError, match="None"):
                call()


def test_no_paths_are_an_error():
    for call in (pysutra.analyze.overview, pysutra.analyze.hta, pysutra.analyze.operators, pysutra.analyze.collectives,
                 pysutra.analyze.memory):
        with pytest.raises(pysutra.SutraError, match="no (traces|inputs)"):
            call([])


def test_warnings_are_pythons(write_trace, device):
    again = load(device)["traceEvents"]
    for event in again:
        if event.get("cat") == "kernel":
            event["args"]["External id"] = "seven"
    path = write_trace(again)
    with pysutra.Context(lenient=True) as context:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = pysutra.analyze.hta([path, "/nowhere/rank1.json"], context=context)
        assert any("/nowhere/rank1.json" in str(warning.message) for warning in told)
        assert all(warning.category is pysutra.SutraWarning for warning in told)
        assert [rank.skipped_reason is None for rank in result.ranks] == [True, False]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(pysutra.SutraWarning):
                pysutra.analyze.hta([path, "/nowhere/rank1.json"], context=context)


def test_strict_contexts_raise_instead():
    with pysutra.Context(strict=True) as context, pytest.raises(pysutra.SutraError):
        pysutra.analyze.hta(["/nowhere/rank1.json"], context=context)


def test_progress_is_reported(device):
    told = []
    with pysutra.DeviceTrace(device, progress=lambda *steps: told.append(steps)):
        pass
    assert told and all(0 <= done <= total or total == 0 for _, done, total in told)


def test_progress_may_be_a_bar(device):
    class Bar:
        def __init__(self):
            self.calls = []

        def reset(self, total=None):
            self.calls.append(("reset", total))

        def update(self, n):
            self.calls.append(("update", n))

        def set_description(self, text):
            self.calls.append(("set_description", text))

    bar = Bar()
    with pysutra.Context(progress=bar) as context, pysutra.DeviceTrace(device, context=context):
        pass
    assert {name for name, _ in bar.calls} >= {"reset", "set_description"}


def test_a_progress_that_raises_ends_the_work(device):
    def stop(*unused):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        pysutra.DeviceTrace(device, progress=stop)
    with pysutra.DeviceTrace(device) as trace:
        assert len(trace.events()) > 0


def test_contexts_that_differ_cannot_be_linked(host, device):
    with pysutra.Context(threads=1) as context, pysutra.HostTrace(host, context) as own, pysutra.DeviceTrace(device) as other:
        with pytest.raises(ValueError, match="different contexts"):
            pysutra.link(own, other)


def test_threads_of_python_get_the_same(host, device):
    def work(number):
        with pysutra.link(host, device) as linked, pysutra.DeviceTrace(device) as trace:
            return pyarrow.table(linked), pyarrow.table(trace)

    with ThreadPoolExecutor(8) as executor:
        results = list(executor.map(work, range(24)))
    assert all(result[0].equals(results[0][0]) and result[1].equals(results[0][1]) for result in results)


def big_trace(path, n):
    """A device trace of n events, quickly."""
    event = '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":2,"ts":%d.5,"dur":1.25,"args":{"External id":%d}}'
    path.write_text('{"traceEvents":[' + ",".join(event % (i, i) for i in range(n)) + "]}")
    return str(path)


def test_other_threads_run_meanwhile(tmp_path):
    path, ticks, done = big_trace(tmp_path / "big.json", 200_000), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pysutra.DeviceTrace(path) as trace:
            n_meanwhile = len(ticks)
            assert len(trace.events(["ts"])) == 200_000
    finally:
        done.set()
        thread.join()
    assert n_meanwhile > 0


def test_an_interrupt_ends_the_wait(tmp_path):
    """The signal comes while a pipe that never ends is read; only the wait for it can be ended."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = (HEARS + "import os, pysutra, signal, sys, threading, time\n"
            "keep = os.open(sys.argv[1], os.O_RDWR)\n"
            "os.write(keep, b'{\"traceEvents\":[')\n"
            "sent = []\n"
            "def kill():\n"
            "    time.sleep(0.3)\n"
            "    sent.append(time.monotonic())\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=kill).start()\n"
            "try:\n"
            "    pysutra.DeviceTrace(sys.argv[1])\n"
            "except KeyboardInterrupt:\n"
            "    print(time.monotonic() - sent[0])\n"
            "with pysutra.DeviceTrace(sys.argv[2]) as trace:\n"
            "    print(len(trace.events()))\n")
    path = os.path.join(PAIR, "device.json.gz")
    said = subprocess.run([sys.executable, "-c", code, str(pipe), path], capture_output=True, text=True, timeout=120)
    waited, n_events = said.stdout.split()
    assert said.returncode == 0, said.stderr
    assert int(n_events) == len(load(path)["traceEvents"])
    assert float(waited) < 30  # 0.02 s where nothing else runs; no test depends on time


def test_an_interrupt_ends_the_work(tmp_path):
    """The signal comes from the progress callback; the thread that reads ends soon, and the context goes on with other work."""
    code = (HEARS + "import os, pysutra, signal, sys, time\n"
            "def n_threads():\n"
            "    return len(os.listdir('/proc/self/task'))\n"
            "context = pysutra.Context(threads=1)\n"
            "before = n_threads()\n"
            "try:\n"
            "    pysutra.DeviceTrace(sys.argv[1], context, progress=lambda *told: os.kill(os.getpid(), signal.SIGINT))\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
            "for _ in range(3000):\n"
            "    if n_threads() == before:\n"
            "        break\n"
            "    time.sleep(0.01)\n"
            "print(n_threads() - before)\n"
            "with pysutra.DeviceTrace(sys.argv[2], context) as trace:\n"
            "    print(len(trace.events()))\n")
    path = os.path.join(PAIR, "device.json.gz")
    big = big_trace(tmp_path / "big.json", 300_000)
    said = subprocess.run([sys.executable, "-c", code, big, path], capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == ["interrupted", "0", str(len(load(path)["traceEvents"]))]


def test_a_forked_process_has_a_context_of_its_own(device):
    with pysutra.DeviceTrace(device) as trace:
        expected = len(trace.events())
        child = os.fork()
        if child == 0:
            with pysutra.DeviceTrace(device) as own:
                os._exit(0 if len(own.events()) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_repeated_loads_do_not_leak(host, device):
    def once():
        with pysutra.link(host, device) as linked, pysutra.DeviceTrace(device) as trace:
            linked.nodes().to_dict(0, 1)
            pyarrow.table(trace.events(args=["grid", "none"]))

    for _ in range(10):
        once()
    before = resident()
    for _ in range(int(os.environ.get("PYSUTRA_LOADS", 40))):
        once()
    assert resident() - before < 16 << 20


def test_what_a_file_is(host, device, tmp_path):
    assert pysutra.trace_kind(host) == "host" and pysutra.trace_kind(device) == "device"


def test_the_program_is_there(device):
    assert subprocess.run([pysutra.program(), "--version"], capture_output=True, text=True).stdout.split()[1] == \
        pysutra.__version__
    folder = os.path.dirname(sys.executable)
    for name in ("sutra", "chakra_trace_link", "trace_link", "chakra_converter", "chakra_jsonizer"):
        said = subprocess.run([os.path.join(folder, name), "--help"], capture_output=True, text=True)
        assert said.returncode == 0 and said.stdout.startswith(name), name
    assert os.path.exists(os.path.join(pysutra.include_dir(), "sutra", "sutra.h"))


def test_everything_is_documented():
    for name in pysutra.__all__:
        thing = getattr(pysutra, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"

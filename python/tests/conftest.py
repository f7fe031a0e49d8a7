"""What the tests share: traces of tests/data, or of the folders that $PYSUTRA_CASES names, and what Python's json reads of them."""

import glob
import gzip
import json
import os

import pytest

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DATA = os.path.join(TOP, "tests", "data")
PAIR = os.path.join(DATA, "link", "torch_mlp_nosync")
SYNTH = os.path.join(DATA, "analyze", "synth")


def _files():
    folders = os.environ.get("PYSUTRA_CASES", DATA).split(":")
    paths = [path for folder in folders for path in glob.glob(os.path.join(folder, "**", "*.json.gz"), recursive=True)]
    return sorted(path for path in paths if os.path.basename(path) not in ("out.json.gz", "out.nosync.json.gz"))


def _kind(path):
    with gzip.open(path, "rb") as file:
        text = file.read()
    return "device" if b'"traceEvents"' in text else "host" if b'"nodes"' in text and b"inclusive_dur" not in text else None


KINDS = {path: _kind(path) for path in _files()}


def load(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture
def device():
    return os.path.join(PAIR, "device.json.gz")


@pytest.fixture
def host():
    return os.path.join(PAIR, "host.json.gz")


@pytest.fixture
def write_trace(tmp_path):
    """write_trace(EVENTS): the path of a device trace that holds them."""

    def write(events, name="device.json"):
        path = tmp_path / name
        path.write_text(events if isinstance(events, str) else json.dumps({"traceEvents": events}))
        return str(path)

    return write

"""Columns in the memory of a CUDA device. Where the build has a library for which the CPU stands in for the device, the tests
run with it: device memory is then host memory, so that the tests read it."""

import ctypes
import json
import os
import subprocess
import sys

import pytest

import pysutra
from conftest import PAIR, TOP

LIBRARY = os.path.join(os.environ.get("SUTRA_BUILD", os.path.join(TOP, "build")), "tests", "on_host_gpu")
DEVICE = os.path.join(PAIR, "device.json.gz")


class Tensor(ctypes.Structure):
    """The beginning of DLPack's DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("n_dimensions", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class DeviceArray(ctypes.Structure):
    """Arrow's ArrowDeviceArray."""

    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
                ("sync_event", ctypes.c_void_p), ("reserved", ctypes.c_int64 * 3)]


def pointer(capsule, name, kind):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind)).contents


def read(exporter):
    """The values of a tensor in memory of the stand-in."""
    capsule = exporter.__dlpack__(stream=1, max_version=(1, 0))
    tensor = pointer(capsule, b"dltensor", Tensor)
    kinds = {(0, 8): ctypes.c_int8, (0, 32): ctypes.c_int32, (0, 64): ctypes.c_int64, (1, 8): ctypes.c_uint8,
             (1, 32): ctypes.c_uint32, (2, 64): ctypes.c_double}
    assert (tensor.device_type, tensor.device) == exporter.__dlpack_device__() == (2, 0)
    assert (tensor.n_dimensions, tensor.lanes, tensor.strides, tensor.byte_offset) == (1, 1, None, 0)
    array = ctypes.cast(tensor.data, ctypes.POINTER(kinds[tensor.code, tensor.bits]))
    return [array[i] for i in range(tensor.shape[0])]


def check_columns():
    trace = pysutra.DeviceTrace(DEVICE)
    expected = trace.events().to_dict()
    on_device = trace.events().to_device()
    trace.close()
    assert on_device.columns == list(on_device) == list(expected)
    assert len(on_device) == len(on_device["ts"]) == len(expected["ts"])
    for name, values in expected.items():
        column = on_device[name]
        assert column.null_count == values.count(None)
        got = read(column.values)
        if column.categories is not None:
            got = [column.categories[number] for number in got]
        bits = read(column.valid_bits) if column.valid_bits else None
        valid = [not bits or bits[row // 8] >> row % 8 & 1 for row in range(len(values))]
        assert [value if ok else None for value, ok in zip(got, valid)] == values, name
    assert read(on_device["ts"]) == expected["ts"]
    assert read(pysutra.DeviceTrace(DEVICE).to_device()["ts"]) == expected["ts"]
    with pytest.raises(BufferError, match="missing values: use .values"):
        on_device["stream"].__dlpack__()
    with pytest.raises(KeyError):
        on_device["streams"]
    assert repr(on_device).startswith(f"<pysutra.DeviceTable events on cuda:0: {len(on_device):,} rows, ts, dur")


def check_types():
    with pysutra.link(os.path.join(PAIR, "host.json.gz"), DEVICE) as linked:
        nodes = linked.nodes().to_device()
    with pytest.raises(BufferError, match=r"'gpu' of Arrow type 'b' is no DLPack tensor"):
        nodes["gpu"].__dlpack__()
    with pytest.raises(BufferError, match=r"'sync_dep' of Arrow type '\+l' is no DLPack tensor"):
        nodes["sync_dep"].values.__dlpack__()


def check_arrow():
    on_device = pysutra.DeviceTrace(DEVICE).events(["ts", "name"]).to_device()
    for _ in range(2):
        schema, capsule = on_device.__arrow_c_device_array__()
        array = pointer(capsule, b"arrow_device_array", DeviceArray)
        assert (array.length, array.n_children, array.device_id, array.device_type) == (len(on_device), 2, 0, 2)
        assert array.sync_event is None
    del on_device
    assert array.length > 0
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.Schema._import_from_c_capsule(schema).names == ["ts", "name"]


def check_errors():
    with pytest.raises(pysutra.SutraError, match="no CUDA device"):
        pysutra.DeviceTrace(DEVICE).events().to_device(3)
    with pytest.raises(ValueError, match="cuda:N"):
        pysutra.Context(device="cuda:x")
    with pytest.raises(ValueError, match="cuda:N"):
        pysutra.Context(device="cpu:1")
    assert pysutra.Context(device="cuda:0").run


CHECKS = {check.__name__: check for check in (check_columns, check_types, check_arrow, check_errors)}


@pytest.mark.parametrize("name", CHECKS)
def test_device_columns(name):
    if not os.path.isdir(LIBRARY):
        pytest.skip(f"needs {LIBRARY}")
    environment = {**os.environ, "LD_LIBRARY_PATH": LIBRARY}
    ran = subprocess.run([sys.executable, __file__, name], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [name]


def test_without_device():
    table = pysutra.DeviceTrace(DEVICE).events(["ts"])
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    code = f"import pysutra; pysutra.DeviceTrace({DEVICE!r}).events(['ts']).to_device()"
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "SutraError: no CUDA device" in ran.stderr
    assert len(table) > 0


if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
    print(json.dumps([sys.argv[1]]))

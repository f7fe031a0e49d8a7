"""The wheel in a new virtual environment that is not activated: its commands, and the glibc that its tag promises.

$PYSUTRA_WHEEL is the wheel; by default the one that tests/run builds.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import TOP

COMMANDS = ["sutra", "chakra_trace_link", "trace_link", "chakra_converter", "chakra_jsonizer"]
READELF = shutil.which("readelf")
C_LIBRARY = re.compile(r"(ld-linux-.*|libc|libm|libpthread|libdl|librt)\.so\.\d+")


@pytest.fixture(scope="module")
def wheel():
    paths = glob.glob(os.environ.get("PYSUTRA_WHEEL", os.path.join(TOP, "build", "python", "wheel", "pysutra-*.whl")))
    if len(paths) != 1:
        pytest.skip("PYSUTRA_WHEEL does not name one wheel")
    return os.path.abspath(paths[0])


@pytest.fixture(scope="module")
def commands(wheel, tmp_path_factory):
    """The directory of the commands."""
    environment = str(tmp_path_factory.mktemp("environment"))
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    folder = os.path.join(environment, "bin")
    subprocess.run([os.path.join(folder, "pip"), "install", "--quiet", "--no-index", wheel], check=True)
    return folder


def run(*arguments, cwd=None):
    """What the command prints; the environment does not help it to find anything."""
    return subprocess.run(arguments, cwd=cwd, env={}, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_run_by_path(commands, name):
    version = run(os.path.join(commands, "sutra"), "--version")
    assert re.fullmatch(r"sutra \d+\.\d+\.\d+\n", version)
    usage = run(os.path.join(commands, name), "--help")
    assert usage.startswith(name)


def test_relative_path_and_symbolic_link(commands, tmp_path):
    os.symlink(os.path.join(commands, "sutra"), tmp_path / "linked")
    assert run("bin/sutra", "--version", cwd=os.path.dirname(commands)) == run("./linked", "--version", cwd=tmp_path)


def test_commands_link_a_pair(commands, tmp_path):
    run(os.path.join(commands, "sutra"), "gen", "--events", "1000", cwd=tmp_path)
    run(os.path.join(commands, "sutra"), "link", "host.json", "device.json", "-o", "a.json", cwd=tmp_path)
    run(
        os.path.join(commands, "chakra_trace_link"),
        *("--chakra-host-trace", "host.json", "--chakra-device-trace", "device.json", "--rank", "0", "--output-file", "b.json"),
        cwd=tmp_path,
    )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert any("kernel" in str(node) for node in json.loads((tmp_path / "a.json").read_text())["nodes"])


def test_symbols_are_not_newer_than_the_tag(wheel, tmp_path):
    tag = re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", wheel)
    if not tag:
        pytest.skip("a wheel for this machine only: packages/build wheel makes one for others")
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.namelist() if archive.read(member)[:4] == b"\x7fELF"]
        licenses = archive.read("pysutra/lib/LICENSES").decode()
        binaries = [archive.extract(member, tmp_path) for member in members]
    assert all(library in licenses for library in ("libdeflate", "zstd", "sqlite"))
    assert sorted(map(os.path.basename, binaries)) == ["_core.abi3.so", "libsutra.so.0", "sutra"]
    for binary in binaries:
        text = run(READELF, "--wide", "--dynamic", "--version-info", binary)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        assert [name for name in needed if not C_LIBRARY.fullmatch(name) and name != "libsutra.so.0"] == []
        versions = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([\d.]+)", text)}
        assert versions and max(versions) <= (int(tag[1]), int(tag[2])), binary


def test_program_calls_functions_of_glibc(commands):
    """zig would link functions of its own, which are slower or round in another way."""
    (program,) = glob.glob(os.path.join(commands, "..", "lib", "python*", "site-packages", "pysutra", "bin", "sutra"))
    imported = re.findall(r"UND (\w+)@GLIBC", run(READELF, "--wide", "--dyn-syms", program))
    assert {"memcpy", "log2", "__stack_chk_fail"} <= set(imported)

"""Entry points of the wheel: the sutra command and its drop-in names."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def program() -> str:
    """Returns the path of the sutra executable."""
    return os.path.join(os.path.dirname(__file__), "bin", "sutra")


def _become(name: str) -> NoReturn:
    """Replaces this process by the executable, which selects the command by its name (argv[0])."""
    sys.stdout.flush()
    os.execv(program(), [name, *sys.argv[1:]])


def sutra() -> NoReturn:
    """Runs sutra."""
    _become("sutra")


def chakra_trace_link() -> NoReturn:
    """Links a host trace and a device trace, with the options of Chakra's chakra_trace_link."""
    _become("chakra_trace_link")


def trace_link() -> NoReturn:
    """Links by name and order, with the options of Chakra's older trace_link."""
    _become("trace_link")


def chakra_converter() -> NoReturn:
    """Converts ET+ to Chakra's protobuf files, with the options of chakra_converter."""
    _become("chakra_converter")


def chakra_jsonizer() -> NoReturn:
    """Prints Chakra's protobuf files as JSON, with the options of chakra_jsonizer."""
    _become("chakra_jsonizer")

"""The program and its drop-in names, as entry points of the wheel."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def program() -> str:
    """Where the program is."""
    return os.path.join(os.path.dirname(__file__), "bin", "sutra")


def _become(name: str) -> NoReturn:
    """Becomes the program, which tells by its name what to do."""
    sys.stdout.flush()
    os.execv(program(), [name, *sys.argv[1:]])


def sutra() -> NoReturn:
    """The program."""
    _become("sutra")


def chakra_trace_link() -> NoReturn:
    """Links a host trace and a device trace, called as Chakra's linker is."""
    _become("chakra_trace_link")


def trace_link() -> NoReturn:
    """Links by names and order, called as Chakra's older linker is."""
    _become("trace_link")


def chakra_converter() -> NoReturn:
    """Converts ET+ to Chakra's files, called as its converter is."""
    _become("chakra_converter")


def chakra_jsonizer() -> NoReturn:
    """Shows Chakra's files as JSON, called as its program is."""
    _become("chakra_jsonizer")

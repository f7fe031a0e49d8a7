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
    _become("sutra")


def chakra_trace_link() -> NoReturn:
    _become("chakra_trace_link")


def trace_link() -> NoReturn:
    _become("trace_link")


def chakra_converter() -> NoReturn:
    _become("chakra_converter")


def chakra_jsonizer() -> NoReturn:
    _become("chakra_jsonizer")

"""Contexts: number of threads, compute device, strictness and progress callback of operations."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from . import _core

#: Called with a stage's name, what is done of it and its total; or something like a ``tqdm``, which has ``reset``,
#: ``update`` and ``set_description``.
Progress = Union[Callable[[str, int, int], Any], Any]

N_BRIEF = 4  # counts

DEVICES = {"auto": 0, "cpu": 1, "cuda": 2}


class Context:
    """Settings and threads that operations share.

    Most programs need no context of their own: all traces of a process share a default one, created on first use and freed
    with the last trace. A context runs one operation at a time on ``threads`` threads; concurrent calls wait. Two traces
    can be linked only if they were read with the same context.

    Args:
        threads: number of threads (0: one per CPU).
        device: "auto" (links use a GPU if ``sutra devices --calibrate`` measured it as faster), "cpu", "cuda", or
            "cuda:N" for CUDA device N.
        strict: raise ``SutraError`` where input is otherwise repaired with a warning.
        lenient: repair malformed JSON and ignore fields of the wrong type instead of raising.
        progress: a function called as ``progress(stage, done, total)``, or a ``tqdm``.

    >>> with pysutra.Context(threads=1) as context:
    ...     trace = pysutra.DeviceTrace("device.json", context=context)
    """

    def __init__(self, threads: int = 0, device: str = "auto", strict: bool = False, lenient: bool = False,
                 progress: Optional[Progress] = None) -> None:
        kind, colon, number = device.partition(":")
        if kind not in DEVICES or (colon and not (kind == "cuda" and number.isdecimal())):
            raise ValueError(f"device must be one of {', '.join(DEVICES)} or cuda:N, not {device!r}")
        self.progress = progress
        self._thing = _core.context(threads, DEVICES[kind], int(number or 0), strict, lenient)

    def run(self, operation: str, things: Sequence[Any] = (), texts: Sequence[Any] = (), numbers: Sequence[float] = (),
            progress: Optional[Progress] = None) -> Any:
        """Runs one libsutra operation; internal to this package."""
        told = progress if progress is not None else self.progress
        try:
            return _core.run(operation, self._thing, tuple(things), tuple(texts), tuple(numbers), _callback(told))
        except KeyboardInterrupt:
            _abandon(self)
            raise

    def close(self) -> None:
        """Releases the context; its threads end with the last trace that uses it."""
        self._thing.close()

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()


class _Bar:
    """Adapts a ``tqdm``-like object to the progress callback."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.stage: Optional[str] = None
        self.done = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self.stage:
            self.bar.reset(total=total)
            self.bar.set_description(stage)
            self.stage, self.done = stage, 0
        if done > self.done:
            self.bar.update(done - self.done)
            self.done = done


def _callback(progress: Optional[Progress]) -> Optional[Callable[[str, int, int], Any]]:
    if progress is not None and hasattr(progress, "update") and hasattr(progress, "reset"):
        return _Bar(progress)
    return progress


_lock = threading.Lock()
_shared: Optional["weakref.ref[Context]"] = None


def shared() -> Context:
    """Returns the default context, which lives until its last trace is freed."""
    global _shared
    with _lock:
        context = _shared() if _shared else None
        if context is None:
            context = Context()
            _shared = weakref.ref(context)
        return context


def _abandon(context: Context) -> None:
    """Replaces the default context for later calls: the cancelled operation may occupy this one for a while."""
    global _shared
    with _lock:
        if _shared is not None and _shared() is context:
            _shared = None


_of_device: Dict[int, "Context"] = {}


def of_device(number: int) -> Context:
    """Returns the context that copies columns to CUDA device ``number``; it lives until the process ends."""
    with _lock:
        if number not in _of_device:
            context = Context.__new__(Context)
            context.progress = None
            context._thing = _core.context(0, DEVICES["auto"], number, False, False)
            _of_device[number] = context
        return _of_device[number]


def _forget() -> None:
    global _shared, _lock
    _lock = threading.Lock()
    _shared = None
    _of_device.clear()


# A forked process has none of the threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Closing:
    """Owner of a libsutra object, freed by ``close()`` or at the end of a ``with`` block."""

    def __init__(self, context: Context, thing: Any) -> None:
        self._context = context
        self._thing = thing

    def _run(self, operation: str, things: Sequence[Any] = (), texts: Sequence[Any] = (),
             numbers: Sequence[float] = (), progress: Optional[Progress] = None) -> Any:
        return self._context.run(operation, things, texts, numbers, progress)

    def _write(self, operation: str, texts: Sequence[Any], numbers: Sequence[float], progress: Optional[Progress]) -> int:
        """Writes a file and returns its size in bytes."""
        return int(self._run(operation, (self._thing,), texts, numbers, progress))

    def close(self) -> None:
        """Frees the memory, unless a result or a table still uses it."""
        self._thing.close()

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called."""
        return bool(self._thing.closed)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    _module = "pysutra"

    def _brief(self) -> str:
        """The answer, or the first counts of the report, for ``repr()``; "": none."""
        report = getattr(self, "report", {})
        counts = [f"{name} {value:,.10g}" for name, value in report.items() if isinstance(value, (int, float))]
        return ", ".join(counts[:N_BRIEF])

    def __repr__(self) -> str:
        name = f"{self._module}.{type(self).__name__}"
        if self.closed:
            return f"<{name}, closed>"
        brief = self._brief()
        return f"<{name}: {brief}>" if brief else f"<{name}>"


def path_bytes(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """Encodes a path for the file system."""
    return os.fsencode(path)


def path_list(paths: Union[str, "os.PathLike[str]", Sequence[Any]]) -> Tuple[bytes, ...]:
    """Encodes one path or several paths."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        return (os.fsencode(paths),)
    return tuple(os.fsencode(path) for path in paths)

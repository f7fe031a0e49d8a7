"""The same work on many ranks."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Callable, List, Optional, Sequence, TypeVar

T = TypeVar("T")


def map_ranks(function: Callable[[Any], T], paths: Sequence[Any], executor: Optional[Executor] = None) -> List[T]:
    """Calls ``function(path)`` for each path, side by side, and returns the results in the order of the paths.

    What the function returns travels between processes: a DataFrame, an Arrow table or numbers, not a trace. The first call
    that fails raises its exception here, and what has not begun is left.

    Args:
        function: a function of a module, so that other processes can import it. With ``executor=None``, call ``map_ranks`` below
            ``if __name__ == "__main__":``, because new processes import the main module again.
        paths: of the ranks' traces.
        executor: anything with ``submit`` as ``concurrent.futures`` has it: a ``ThreadPoolExecutor``, Dask's ``Client``,
            ``mpi4py.futures.MPIPoolExecutor``, a class of three lines for Ray (docs/python.md); None: as many processes of this
            machine as there are processors, started afresh.

    >>> frames = pysutra.map_ranks(kernels_of, paths)
    """
    if executor is not None:
        return _gather([executor.submit(function, path) for path in paths])
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as own:
        return _gather([own.submit(function, path) for path in paths])


def _gather(futures: List[Any]) -> List[Any]:
    try:
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise

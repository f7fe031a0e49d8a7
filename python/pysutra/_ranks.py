"""Run one function on the traces of many ranks."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Callable, List, Optional, Sequence, TypeVar

T = TypeVar("T")


def map_ranks(function: Callable[[Any], T], paths: Sequence[Any], executor: Optional[Executor] = None) -> List[T]:
    """Calls ``function(path)`` for each path in parallel and returns the results in the order of the paths.

    Results are pickled: return a DataFrame, an Arrow table or numbers, not a trace. The first failing call raises its
    exception here, and calls that have not started are cancelled.

    Args:
        function: a function at module level, so that worker processes can import it.
        paths: paths of the ranks' traces.
        executor: any object with the ``submit`` method of ``concurrent.futures``: a ``ThreadPoolExecutor``, Dask's
            ``Client``, ``mpi4py.futures.MPIPoolExecutor``, a class of three lines for Ray (docs/python.md). None starts
            one process per CPU; call ``map_ranks`` below ``if __name__ == "__main__":`` then.

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

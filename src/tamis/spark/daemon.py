"""The process from which Spark forks Python workers: PySpark's own, with tamis imported and its kernels loaded.

Spark starts it as `python -m tamis.spark.daemon pyspark.worker` where `spark.python.daemon.module` names it. A
worker is a fork of it, so it has everything at once that a new process would import and load for a second or two.

A fork has one thread, and locks that another thread held at that moment stay locked in it. So nothing that is
loaded here may start a thread: numba does so for parallel kernels only, of which there are none; Arrow's pools
start with their first use; that of Arrow's allocator is turned off. If loading fails, workers load for themselves.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

_log = logging.getLogger(__name__)

_WORKER = "pyspark.worker"
"""What tasks run in. Spark has other kinds of workers, for planning and sources, which match nothing."""
_TASKS = (
    _WORKER,
    "tamis.spark.pairs_task",
    "tamis.spark.preparation",
    "tamis.spark.route_task",
    "tamis.spark.stream_task",
)
_ALLOCATOR = "JE_ARROW_MALLOC_CONF"


def main() -> None:
    """Load what workers need, then make workers until Spark ends."""
    # Elsewhere than on Linux, system libraries that are loaded before a fork may not work after it.
    if sys.platform == "linux" and sys.argv[1:2] == [_WORKER]:
        try:
            with _quiet_output(), _single_threaded_arrow():
                preload()
        except Exception:  # whatever it is: without, workers are slower to start, and right
            _log.warning("tamis is not loaded before workers are forked", exc_info=True)
    from pyspark.daemon import manager

    manager()


def preload() -> None:
    """Import what tasks need and load their kernels; then, before each fork, the kernels that have come since."""
    for name in _TASKS:
        import_module(name)
    from tamis.spark.kernel_loading import load_kernels

    daemon = os.getpid()

    def load() -> None:
        if os.getpid() == daemon:  # a worker that forks processes of its own has no need of this
            load_kernels()

    load()
    os.register_at_fork(before=load)
    gc.collect()
    gc.freeze()  # so that collections in workers neither look at all this nor copy its pages


@contextmanager
def _quiet_output() -> Iterator[None]:
    """Standard output is where Spark reads the port from: what is printed meanwhile goes to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


@contextmanager
def _single_threaded_arrow() -> Iterator[None]:
    """Arrow's allocator reads its settings when it is imported; what the user has set wins."""
    if _ALLOCATOR in os.environ:
        yield
        return
    os.environ[_ALLOCATOR] = "background_thread:false"
    try:
        yield
    finally:
        del os.environ[_ALLOCATOR]


if __name__ == "__main__":
    main()

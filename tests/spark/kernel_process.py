"""A process with kernels: a driver that compiles one and archives it, a worker that uses the archive, or a daemon
that loads what is compiled.

Run as a process of its own, since a process remembers where it keeps kernels.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkFiles

from tamis.kernels import compilations
from tamis.selectivity.combination import at_least
from tamis.spark.kernel_archive import KernelArchive, make_archive
from tamis.spark.kernel_loading import load_kernels


def main(role: str, folder: Path) -> None:
    kernel: Any = at_least
    description = folder / "archive.json"
    if role == "worker":
        SparkFiles._root_directory, SparkFiles._is_running_on_worker = str(folder), True
        KernelArchive(**json.loads(description.read_text())).use()
    elif role == "daemon":
        load_kernels()
    answer = kernel(1, np.array([0.5, 0.5]))
    if role == "driver":
        archive = make_archive(folder)
        assert archive is not None
        description.write_text(json.dumps(asdict(archive)))
    sys.stdout.write(
        json.dumps(
            {"answer": answer, "compiled": compilations.count, "read": sum(kernel.stats.cache_hits.values())}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

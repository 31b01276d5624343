"""A process that has loaded kernels has them when they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.spark.kernel_loading import product_kernels
from tests.spark.processes import run

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow


def test_what_is_loaded_is_neither_compiled_nor_read_when_it_is_called(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    assert run("daemon", tmp_path, kernels)[0] == {"answer": 0.75, "compiled": 1, "read": 0}
    assert run("daemon", tmp_path, kernels)[0] == {"answer": 0.75, "compiled": 0, "read": 0}
    for file in kernels.glob("*.kernel"):
        file.write_bytes(b"damaged")
    assert run("daemon", tmp_path, kernels)[0] == {"answer": 0.75, "compiled": 1, "read": 0}


def test_kernels_of_the_laboratory_are_left_out() -> None:
    modules = {kernel.py_func.__module__ for kernel in product_kernels()}
    assert "tamis.engines.bitslice.kernels.search" in modules
    assert not any(name.startswith("tamis.lab") for name in modules)

"""Warming reads JSON as a stream does: no kernel of its columns is left to compile."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from tamis import kernels, warm
from tamis.events import json_columns
warm._json_events()
called = {name: each for name, each in vars(json_columns).items() if kernels.is_kernel(each)}
print(*(name for name, each in called.items() if not each.signatures), len(called))
"""


@pytest.mark.slow
def test_every_kernel_that_makes_columns_of_json_is_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *left, count = done.stdout.split()
    assert left == []
    assert int(count) >= 4

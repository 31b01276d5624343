"""Processes that keep their compiled kernels in a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(role: str, folder: Path, kernels: Path) -> tuple[dict[str, Any], str]:
    """What a process answers that keeps its kernels in a folder, and what it logs."""
    script = Path(__file__).with_name("kernel_process.py")
    done = subprocess.run(
        [sys.executable, str(script), role, str(folder)],
        env=os.environ | {"TAMIS_KERNELS": str(kernels)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), done.stderr

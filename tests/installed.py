"""tamis as users install it: from a wheel, with nothing of this folder on the path."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tamis import kernels

ROOT = Path(__file__).resolve().parent.parent


def build_wheel(folder: Path) -> Path:
    """The wheel of this tree for this platform, as `make wheel` builds it, with the kernels that are compiled."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-deps"]
    environment = os.environ | {"TAMIS_WHEEL_KERNELS": str(kernels.folder())}
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True, env=environment)
    (wheel,) = folder.glob("tamis-*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path, extras: str | None = None) -> Path:
    """A new virtual environment with the wheel in it, and its Python.

    With extras everything is fetched from the index, as a user's pip does. Without, the environment borrows the
    dependencies of the one that runs the tests, which takes seconds instead of minutes.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    what = [str(wheel), "--no-deps"] if extras is None else [f"{wheel}[{extras}]"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "-q"]
    subprocess.run([*pip, *what], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    if extras is None:
        (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python

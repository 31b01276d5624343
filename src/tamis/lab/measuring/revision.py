"""Which code was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tamis._version import __version__

_ROOT = Path(__file__).resolve().parents[4]


def revision() -> str:
    """The commit, with a + if files were changed since; the version of the package outside a checkout."""
    if not (_ROOT / ".git").exists():
        return __version__
    git = ["git", "-C", str(_ROOT)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")

"""The command line: what the library does, for files and pipes.

It decides nothing about matching. Start-up stays light: whatever needs pyarrow or numba is imported by the
command that uses it.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `tamis`."""
    from tamis.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is escaped; it never stops a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="tamis")

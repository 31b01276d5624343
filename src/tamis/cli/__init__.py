"""The command line: the functions of the library for files and pipes.

It contains no matching logic. To start quickly, commands import pyarrow, numba and what needs them only when they
run.
"""

from __future__ import annotations

import sys


def main() -> None:
    from tamis.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Characters that the encoding of the terminal lacks are escaped, instead of raising an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="tamis")

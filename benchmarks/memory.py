"""Where the bytes of an index are: in its own account, in all arrays that it holds, and on the pages of a process.

An index says what its structures take; what it keeps besides is found by following its references. A published
index is mapped by a process of its own, which matches some events and then asks the system how much of the files
it has mapped, and how much of that is in memory.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tamis

_SMAPS = Path("/proc/self/smaps")
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def array_bytes(*roots: object) -> int:
    """Bytes of all arrays that can be reached, each buffer once; code and what it refers to are left out."""
    seen: set[int] = set()
    buffers: dict[int, int] = {}
    ahead: list[object] = list(roots)
    while ahead:
        here = ahead.pop()
        if id(here) in seen or isinstance(here, _CODE):
            continue
        seen.add(id(here))
        if isinstance(here, np.ndarray):
            owner: Any = here
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            if owner.dtype.hasobject:
                ahead.extend(owner.ravel().tolist())
            buffers[owner.__array_interface__["data"][0]] = owner.nbytes
        elif isinstance(here, pa.Array):
            buffers.update((buffer.address, buffer.size) for buffer in here.buffers() if buffer is not None)
        else:
            ahead.extend(_held(here))
    return sum(buffers.values())


def _held(here: object) -> Iterable[object]:
    if isinstance(here, dict):
        return [*here.keys(), *here.values()]
    return [each for each in gc.get_referents(here) if not isinstance(each, _CODE)]


def mapped(snapshot: Path, events: Path) -> dict[str, int] | None:
    """Bytes of a snapshot that another process maps, and that it has in memory when opened and after a match.

    Args:
        snapshot: Folder of a published matcher.
        events: Parquet file of events.

    Returns:
        `mapped`, `opened` and `matched`; None where the system does not tell.
    """
    if not _SMAPS.exists():
        return None
    # The tamis of this process, whichever is installed.
    environment = os.environ | {"PYTHONPATH": str(Path(tamis.__file__).resolve().parents[1])}
    outcome = subprocess.run(
        [sys.executable, "-P", __file__, str(snapshot), str(events)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    found: dict[str, int] = json.loads(outcome.stdout)
    return found


def pages(folder: Path) -> tuple[int, int]:
    """Bytes of files in a folder that this process maps, and those that are in memory."""
    size = resident = 0
    is_inside = False
    for line in _SMAPS.read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            is_inside = len(words) > 5 and words[5].startswith(f"{folder}/")
        elif is_inside and words[0] == "Size:":
            size += int(words[1]) * 1024
        elif is_inside and words[0] == "Rss:":
            resident += int(words[1]) * 1024
    return size, resident


def main(arguments: list[str]) -> None:
    """In a process of its own: open, match, tell."""
    import pyarrow.parquet as pq

    snapshot, events = Path(arguments[0]).resolve(), Path(arguments[1])
    matcher = tamis.Matcher.open(snapshot)
    size, opened = pages(snapshot)
    matcher.match_batch(pq.read_table(events))
    print(json.dumps({"mapped": size, "opened": opened, "matched": pages(snapshot)[1]}))


if __name__ == "__main__":
    main(sys.argv[1:])

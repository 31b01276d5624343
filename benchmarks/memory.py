"""Where the bytes of an index are: in its own account, in all arrays that it holds, and on the pages of a process.

An index says what its structures take; what it keeps besides is found by following its references. A published
index is mapped by a process of its own, which matches some events and then asks the system how much of the files
it has mapped, and how much of that is in memory. Another process adds subscriptions and asks how much memory it
had at most meanwhile.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tamis

if TYPE_CHECKING:
    from benchmarks.report import Bar, Figures
    from tamis.lab.measuring.cases import Data

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
    found: dict[str, int] = json.loads(_in_a_process("map", str(snapshot), str(events)))
    return found


def _in_a_process(*arguments: str) -> str:
    # The tamis of this process, whichever is installed.
    environment = os.environ | {"PYTHONPATH": str(Path(tamis.__file__).resolve().parents[1])}
    outcome = subprocess.run(
        [sys.executable, "-P", __file__, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    return outcome.stdout


def measure_peak(label: str, data: Data, figures: Figures, bars: dict[str, Bar]) -> None:
    """How much memory `Matcher.add_many` of all texts takes at most, against what the matcher keeps.

    Left out where the system does not tell, or does not forget what it told before.
    """
    from benchmarks.report import Bar, number

    if not can_reset_peak():
        figures[f"{label}: memory while adding"] = "not measured: the system does not tell"
        return
    with tempfile.TemporaryDirectory() as folder:
        subscriptions = Path(folder) / "subscriptions.parquet"
        pq.write_table(pa.table({"id": data.workload.ids, "condition": data.workload.conditions}), subscriptions)
        event_type = Path(folder) / "event_type.json"
        event_type.write_text(json.dumps(data.workload.event_type.to_dict()), "utf-8")
        found: dict[str, int] = json.loads(_in_a_process("add", str(subscriptions), str(event_type)))
    for name, size in found.items():
        figures[f"{label}: memory while adding, {name}, MB"] = number(size / 1e6)
    title = f"{label}: peak while adding, of what is kept"
    bars[title] = Bar(round(found["peak"] / found["kept"], 2), 1.5, at_most=True)
    print(f"{title}: {number(found['peak'] / 1e6)} of {number(found['kept'] / 1e6)} MB")


def can_reset_peak() -> bool:
    """Does the system tell how much memory a process had at most, from a moment on?"""
    try:
        _reset_peak()
    except OSError:
        return False
    return True


def _reset_peak() -> None:
    """Let the greatest size of this process in memory be the current one; the system forgets greater ones."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    """A size of this process, such as `VmHWM`, the greatest in memory since `_reset_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


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


def _map(snapshot: Path, events: Path) -> dict[str, int]:
    """Open, match, tell."""
    matcher = tamis.Matcher.open(snapshot)
    size, opened = pages(snapshot)
    matcher.match_batch(pq.read_table(events))
    return {"mapped": size, "opened": opened, "matched": pages(snapshot)[1]}


def _add(subscriptions: Path, event_type: Path) -> dict[str, int]:
    """Add, tell: beyond what the process had before, with the texts and compiled kernels."""
    table, kind = pq.read_table(subscriptions), json.loads(event_type.read_text("utf-8"))
    warm = tamis.Matcher(kind, "bitslice")
    warm.add_many(table.slice(0, 1_000))
    del warm
    gc.collect()
    matcher = tamis.Matcher(kind, "bitslice")
    _reset_peak()
    before = _status("VmRSS")
    matcher.add_many(table)
    matcher.settle()
    peak = _status("VmHWM") - before
    # The texts were there before, so they count neither as kept nor in the peak.
    given = [chunk for column in table.columns for chunk in column.chunks]
    return {"peak": peak, "kept": array_bytes(given, matcher) - array_bytes(given)}


def main(arguments: list[str]) -> None:
    """In a process of its own: `map SNAPSHOT EVENTS` or `add SUBSCRIPTIONS EVENT_TYPE`."""
    kind, *files = arguments
    done = {"map": _map, "add": _add}[kind]
    first, second = map(Path, files)
    print(json.dumps(done(first.resolve(), second)))


if __name__ == "__main__":
    main(sys.argv[1:])

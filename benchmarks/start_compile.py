"""What compiling takes, kernel by kernel: one process from an empty folder, with the steps of `tamis warm`.

Seconds are processor time. A kernel that calls another has that one compiled first, if it is not there yet; that
time is the other one's. What numba itself compiles for a kernel, such as sorting, is the kernel's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numba.core import event

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars
from tamis import kernels, warm

_STEPS: dict[Size, tuple[str, ...]] = {
    "smallest": ("_notification_ids",),
    "quick": ("_notification_ids", "_bulk_conditions"),
    "full": tuple(step.__name__ for step in warm.STEPS),
}
"""The steps of the warm-up that are run."""
_MOST_SECONDS = 25
_PRINTED = 40
"""The kernels that are printed, the most expensive first; the last line has all."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One specialisation of a kernel.

    Attributes:
        module: Of the kernel, below `tamis`.
        name: Of the kernel.
        types: Of its arguments, as numba writes them.
        seconds: Of processor time, without the kernels that it calls.
    """

    module: str
    name: str
    types: str
    seconds: float

    @property
    def kernel(self) -> str:
        return f"{self.module}.{self.name}"


class Recorder(event.Listener):
    """Times each kernel that is compiled while it is registered."""

    def __init__(self) -> None:
        self.found: list[Compiled] = []
        self._open: list[list[float]] = []  # of each kernel under way: when it began, and the seconds of others

    def on_start(self, about: Any) -> None:
        if _is_kernel(about):
            self._open.append([time.process_time(), 0.0])

    def on_end(self, about: Any) -> None:
        if not _is_kernel(about):
            return
        begun, others = self._open.pop()
        whole = time.process_time() - begun
        if self._open:
            self._open[-1][1] += whole
        function = about.data["dispatcher"].py_func
        module = function.__module__.removeprefix("tamis.")
        self.found.append(Compiled(module, function.__name__, str(about.data["args"]), whole - others))


def _is_kernel(about: Any) -> bool:
    return isinstance(about.data["dispatcher"]._cache, kernels.KernelCache)


def run(size: Size) -> Report:
    """Compile in a process of its own; print kernels and modules by what they take."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.start_compile", *_STEPS[size]]
        done = subprocess.run(
            command, env=os.environ | {"TAMIS_KERNELS": folder}, check=True, capture_output=True, text=True
        )
    return report_of([Compiled(**each) for each in json.loads(done.stdout)], is_all=size == "full")


def report_of(found: list[Compiled], *, is_all: bool) -> Report:
    """The table: by kernel, by module, and in all; the bar is meant for all kernels."""
    by_kernel: dict[str, float] = {}
    modules: dict[str, float] = {}
    specialisations = Counter(each.kernel for each in found)
    for each in found:
        by_kernel[each.kernel] = by_kernel.get(each.kernel, 0.0) + each.seconds
        modules[each.module] = modules.get(each.module, 0.0) + each.seconds
    several = [name for name, count in specialisations.items() if count > 1]
    total = sum(by_kernel.values())
    figures: Figures = {
        "all kernels: CPU seconds": number(total),
        "kernels": len(by_kernel),
        "specialisations": len(found),
        "kernels with several specialisations": len(several),
        "bars": "judged" if is_all else "not judged: these are not all kernels",
    }
    for name, taken in _most_first(modules):
        figures[f"{name}: CPU seconds"] = number(taken)
        print(f"{taken:8.2f} s  {name}")
    for place, (name, taken) in enumerate(_most_first(by_kernel)):
        figures[f"{name}: CPU seconds"] = number(taken)
        figures[f"{name}: specialisations"] = specialisations[name]
        if place < _PRINTED:
            print(f"{taken:8.2f} s  {specialisations[name]}  {name}")
    for name in several:
        print(f"{name}:", *(each.types for each in found if each.kernel == name), sep="\n  ")
    print(f"{len(by_kernel)} kernels, {len(found)} specialisations, {number(total)} s of CPU")
    bars = {"all kernels: CPU seconds": Bar(total, _MOST_SECONDS, at_most=True)}
    report = Report("start", figures, bars, judged=is_all)
    print_bars(report)
    return report


def _most_first(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])


def main(steps: Sequence[str]) -> None:
    """Compile what some steps of the warm-up need, and print what each kernel took as JSON."""
    kernels.compilations.announce = lambda _message: None
    recorder = Recorder()
    event.register("numba:compile", recorder)  # type: ignore[no-untyped-call]
    for step in warm.STEPS:
        if step.__name__ in steps:
            warm.run_step(step)
    sys.stdout.write(json.dumps([asdict(each) for each in recorder.found]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

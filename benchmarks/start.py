"""From nothing to the first answer: what a process costs before it is of use, by how the kernels got there.

Each program is run in a process of its own, with the kernels in one of three states: none compiled (`empty`), all
compiled by `tamis warm` (`warm`), or those of a wheel of `make wheel` in a new environment (`wheel`). CPU seconds
are those of the process and of the children that it waits for, which Java is not. Its pairs are compared between
the states.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars
from scripts import java_home

_ROOT = Path(__file__).resolve().parent.parent
_PATH = tuple(filter(None, [os.environ.get("PYTHONPATH")]))
_SMALL = ("import", "help", "snippet", "match")
"""Programs that never compile."""
_MANY = ("conditions_1000", "conditions_100000")
_SPARK = ("micro_batches", "new_worker", "service")
_MATCH = ("--subscriptions", "cameras.jsonl", "--events", "events.jsonl", "--event-type", "camera.json", "--json")
_PROGRAMS: dict[Size, tuple[str, ...]] = {
    "smallest": _SMALL,
    "quick": (*_SMALL, *_MANY),
    "full": (*_SMALL, *_MANY, *_SPARK),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A program in one state of the kernels."""

    cpu_seconds: float
    seconds: float
    said: dict[str, Any]


def run(size: Size) -> Report:
    """Measure the programs of a size in every state; the wheel, which takes a while to build, in full only."""
    figures: Figures = {}
    bars: dict[str, Bar] = {}
    answers: dict[str, set[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for state, python, kernels in _states(size, folder, figures, bars):
            for program in _PROGRAMS[size]:
                if state == "empty":
                    shutil.rmtree(kernels, ignore_errors=True)
                found = _time(program, python, kernels, folder)
                title = f"{program}, {state}"
                figures[f"{title}: CPU seconds"] = number(found.cpu_seconds)
                figures[f"{title}: seconds"] = number(found.seconds)
                for key, value in found.said.items():
                    if key.endswith("seconds"):
                        figures[f"{title}: {key.replace('_', ' ')}"] = number(value)
                if "pairs" in found.said:
                    answers.setdefault(program, set()).add(found.said["pairs"])
                    figures[f"{title}: kernels compiled"] = found.said["compiled"]
                _judge(program, state, found, bars)
                print(f"{title}: {found.cpu_seconds:.2f} s of CPU, {found.seconds:.2f} s {found.said or ''}")
    for program, pairs in answers.items():
        if len(pairs) != 1:
            msg = f"{program}: the pairs depend on where kernels come from: {sorted(pairs)}"
            raise SystemExit(msg)
    figures["bars"] = "judged" if size == "full" else "not judged: this is not the size that they are set for"
    report = Report("start", figures, bars, judged=size == "full")
    print_bars(report)
    return report


def _judge(program: str, state: str, found: Run, bars: dict[str, Bar]) -> None:
    if state == "empty" and program in ("snippet", "match"):
        bars[f"{program}, {state}: CPU seconds"] = Bar(found.cpu_seconds, 1.5, at_most=True)
    if state == "empty" and program in (*_SMALL, "conditions_1000") and "compiled" in found.said:
        bars[f"{program}, {state}: kernels compiled"] = Bar(found.said["compiled"], 0, at_most=True)
    if state == "warm" and program == "micro_batches":
        bars["first micro-batch, warm: seconds"] = Bar(found.said["first_batch_seconds"], 3, at_most=True)
    if state == "warm" and program == "service":
        extra = found.said["first_event_seconds"] - found.said["thousandth_event_seconds"]
        bars["first event of a ready service, against the thousandth: seconds"] = Bar(extra, 1, at_most=True)
    if state == "warm" and program == "new_worker":
        bars["a new Python worker of Spark, warm: seconds"] = Bar(found.said["worker_seconds"], 0.3, at_most=True)


def _states(size: Size, folder: Path, figures: Figures, bars: dict[str, Bar]) -> list[tuple[str, str, Path]]:
    """The states of the kernels: name, Python, and the folder that compiled ones are written to."""
    states = [("empty", sys.executable, folder / "empty")]
    if size == "smallest":
        return states
    warm = folder / "warm"
    command = [sys.executable, "-m", "tamis", "warm", "--json", "--folder", str(warm)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    figures["tamis warm, empty: CPU seconds"] = number(told["cpu_seconds"])
    figures["tamis warm, empty: seconds"] = number(told["seconds"])
    figures["tamis warm, empty: kernels"] = told["compiled"]
    bars["tamis warm, empty: CPU seconds"] = Bar(told["cpu_seconds"], 25, at_most=True)
    print(f"tamis warm: {told}")
    states.append(("warm", sys.executable, warm))
    if size == "full":
        states.append(("wheel", _install_wheel(folder), folder / "none"))
    return states


def _install_wheel(folder: Path) -> str:
    """The Python of a new environment with the wheel of `make wheel`, which borrows its dependencies from ours."""
    from tests.installed import make_environment

    subprocess.run(["scripts/wheel.sh", str(Path(sys.prefix)), str(folder / "dist")], check=True, cwd=_ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    return str(make_environment(folder / "environment", wheel))


def _time(program: str, python: str, kernels: Path, folder: Path) -> Run:
    with tempfile.TemporaryDirectory(dir=folder) as own:
        environment = os.environ | {
            "TAMIS_KERNELS": str(kernels),
            "JAVA_HOME": str(java_home.choose(os.environ, install=False)),
            # The benchmarks; tamis is the one that is installed, or, of this environment, the one that we run.
            "PYTHONPATH": os.pathsep.join([str(_ROOT), *(_PATH if python == sys.executable else ())]),
        }
        command = {
            "import": [python, "-c", "import tamis"],
            "help": [python, "-m", "tamis", "--help"],
            "match": [python, "-m", "tamis", "match", *_MATCH],
        }.get(program, [python, "-m", "benchmarks.start_programs", program, own])
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command, cwd=_ROOT / "examples", env=environment, capture_output=True, text=True, check=False
        )
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        msg = f"{program} ended with {done.returncode}: {done.stderr[-2_000:]}"
        raise SystemExit(msg)
    said = json.loads(done.stdout.splitlines()[-1]) if program not in ("import", "help", "match") else {}
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(cpu, seconds, said)

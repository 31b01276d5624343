"""Kernels are compiled once; what a file holds is right, or the file is not used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tamis.arrays import I64
from tamis.kernels import kernel

pytestmark = pytest.mark.slow

SAMPLE = """
from tamis.kernels import kernel
from tamis.sample_constants import OFFSET

@kernel
def twice(number):
    return 2 * number

@kernel
def twice_plus(number):
    return twice(number) + OFFSET
"""


class Project:
    """Modules with kernels, and a folder for what is compiled of them."""

    def __init__(self, folder: Path) -> None:
        self.kernels = folder / "kernels"
        self.offset = 2

    def program(self, first: str = "") -> str:
        return f"""
import importlib.abc, importlib.util, logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
import tamis.kernels as kernels
def module(name, source):
    class Loader(importlib.abc.InspectLoader):
        def create_module(self, spec): return None
        def get_source(self, name): return source
        def exec_module(self, module): exec(compile(source, name, "exec"), module.__dict__)
    spec = importlib.util.spec_from_loader(name, Loader())
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made
module("tamis.sample_constants", "OFFSET = {self.offset}")
sample = module("tamis.sample", {SAMPLE!r})
before = kernels.is_compiled('tamis.sample')
{first}
print(before, sample.twice_plus(20), kernels.compilations.count)
"""

    def run(self, **environment: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", self.program()],
            env=os.environ | {"TAMIS_KERNELS": str(self.kernels)} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    def files(self) -> list[Path]:
        return sorted(self.kernels.glob("*.kernel"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_second_process_compiles_nothing(project: Project) -> None:
    assert project.run()[0] == "False 42 2"
    assert len(project.files()) == 2
    assert project.run()[0] == "True 42 0"


def test_processes_that_need_a_kernel_at_once_compile_it_once(project: Project) -> None:
    program = project.program(first="print('ready', flush=True); sys.stdin.readline()")
    environment = os.environ | {"TAMIS_KERNELS": str(project.kernels)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate()[0].split() for process in processes]
    assert [words[1] for words in printed] == ["42"] * 4
    assert sum(int(words[2]) for words in printed) == 2
    assert len(project.files()) == 2


def test_a_process_that_died_while_it_compiled_holds_nobody_up(project: Project) -> None:
    dying = """
import os, numba.core.event
class Dying(numba.core.event.Listener):
    def on_start(self, event): os.kill(os.getpid(), 9)
    def on_end(self, event): pass
numba.core.event.register("numba:compile", Dying())
"""
    died = subprocess.run(
        [sys.executable, "-c", project.program(first=dying)],
        env=os.environ | {"TAMIS_KERNELS": str(project.kernels)},
        check=False,
    )
    assert died.returncode == -9 and not project.files()
    assert project.run()[0] == "False 42 2"


def test_a_change_in_a_module_that_is_imported_is_noticed(project: Project) -> None:
    project.run()
    project.offset = 100
    assert project.run()[0] == "False 140 2"
    assert len(project.files()) == 2, "what nobody will read again is removed"


def test_a_kernel_from_a_file_is_linked_into_one_that_is_compiled(project: Project) -> None:
    project.run()
    (caller,) = (path for path in project.files() if "twice_plus" in path.name)
    caller.unlink()
    assert project.run()[0].split()[1:] == ["42", "1"]


@pytest.mark.parametrize("damage", [b"", b"no kernel", "cut", "changed"])
def test_a_damaged_file_is_compiled_again(project: Project, damage: bytes | str) -> None:
    project.run()
    for path in project.files():
        content = path.read_bytes()
        if damage == "cut":
            path.write_bytes(content[:-100])
        elif damage == "changed":
            path.write_bytes(content[:2_000] + bytes([content[2_000] ^ 1]) + content[2_001:])
        else:
            assert isinstance(damage, bytes)
            path.write_bytes(damage)
    out, err = project.run()
    assert out.split()[1:] == ["42", "2"]
    assert "is damaged and is compiled again" in err
    assert project.run()[0] == "True 42 0"


def test_what_another_processor_wrote_is_not_used(project: Project) -> None:
    project.run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert project.run()[0] == "False 42 2"


@pytest.mark.skipif(sys.platform != "linux", reason="the baseline is known for x86-64 on Linux")
def test_what_the_baseline_processor_wrote_is_used(project: Project) -> None:
    import platform

    from tamis.kernels import BASELINE

    baseline = BASELINE.get(platform.machine())
    if baseline is None:
        pytest.skip("no baseline for this machine")
    project.run(NUMBA_CPU_NAME=baseline, NUMBA_CPU_FEATURES="")
    assert project.run()[0] == "True 42 0"


def test_without_a_folder_every_process_compiles(project: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for _ in range(2):
        out, err = project.run(TAMIS_KERNELS=str(tmp_path / "file"))
        assert out == "False 42 2"
        assert "compiled kernels cannot be written to" in err


def test_a_kernel_has_one_name_whatever_a_process_has_imported() -> None:
    programs = {
        "alone": "import tamis.engines.bitset",
        "everything": "from tamis.spark.kernel_loading import product_kernels; product_kernels()\n"
        "import tamis.cli.app, tamis.reference, tamis.lab.workloads, tamis.routing.shards",
    }
    asked = ["tamis.engines.bitset", "tamis.engines.forest.atoms", "tamis.engines.bitslice.kernels.search"]
    stamps = {
        each: subprocess.run(
            [sys.executable, "-c", f"{each}\nfrom tamis import kernels\nprint([*map(kernels._stamp, {asked})])"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for each in programs.values()
    }
    assert len(set(stamps.values())) == 1


@kernel
def rest_of(array: I64) -> I64:
    return array[1:]


@kernel
def sum_of_copy(array: I64) -> int:
    return int(array.copy().sum())


@kernel(borrows=True)
def first_and_sum(array: I64) -> int:
    return array[0] + array[1:][0] + sum_of_copy(array)  # type: ignore[no-any-return]


@kernel(borrows=True)
def itself(array: I64) -> I64:
    return array


@kernel(borrows=True)
def second(array: I64) -> int:
    return rest_of(array)[0]  # type: ignore[no-any-return]


def test_who_borrows_arrays_does_not_pass_them_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_KERNELS", str(tmp_path))
    array = np.array([3, 4, 5])
    assert first_and_sum(array) == 3 + 4 + 12
    before = sys.getrefcount(array)
    assert first_and_sum(array) == 19 and sys.getrefcount(array) == before
    for passes_on in (itself, second):
        with pytest.raises(TypeError, match="borrows arrays"):
            passes_on(array)

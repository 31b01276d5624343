"""Kernels: functions that numba compiles, and the folder that keeps what it compiled.

`@kernel` is numba's `njit` with the options of this project and a cache of its own, because numba's has three
properties that a product cannot have: it does not notice that a function called from another file has changed, it
fails on a damaged file, and it spreads over the source tree, so that it can neither be shipped nor be sent to
another machine.

Here a file holds one kernel for one signature and one kind of processor. Its name is a digest of everything that
the machine code depends on: the kernel's module and all modules that it imports, the signature, the versions of
Python, numba and LLVM, the processor. So a file is right or it is not found; its content carries a checksum. Files
are written to `folder()`, and read from there and from `shipped_folder()`, which a wheel for one platform brings.
Processes that need a kernel at the same time compile it once: one does, the others wait for its file.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import pickle
import pkgutil
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from importlib.abc import InspectLoader
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite
import llvmlite.binding
import numba
from numba import types
from numba.core import event as numba_events
from numba.core.caching import _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
SUFFIX = ".kernel"
"""Of the file of a kernel."""
_FOLDER_VARIABLE = "TAMIS_KERNELS"
_DIGEST_BYTES = 32
_FORMAT = 5
"""To be increased with every change of this module that changes what is compiled or how it is written."""
_INTERPRETATION = "tamis.interpretation"
"""The module that decides whether a kernel is called at all: nothing of it is compiled."""
_NOTICE_SECONDS = 1.0
"""Compiling for longer is announced."""
BASELINE = {"x86_64": "x86-64-v3"}
"""By machine, the processor that shipped kernels are compiled for: with AVX2, as all since about 2015 have it."""
_BASELINE_FEATURES = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "sse4.2", "popcnt")}
_PATIENCE_SECONDS = 60.0
"""Another process that compiles one kernel for longer is stopped, and is not waited for."""
_POLL_SECONDS = 0.01
_log = logging.getLogger("tamis")
_Dispatcher: Any = Dispatcher  # numba has no types for all that it has
_Library: Any = JITCodeLibrary
_unliteral: Callable[[Any], Any] = types.unliteral


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, forceinline: bool = ..., inline: str = ..., borrows: bool = ...) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, borrows: bool = False, **options: Any) -> Any:
    """Compile a function when it is first called, or take what was compiled before.

    It releases the interpreter's lock while it runs.

    Args:
        function: The function.
        borrows: It only uses arrays that it is given: it makes none, returns none, and calls nothing that does. So
            numba need not count references to them, which can take longer than everything else where a kernel
            takes arrays out of tuples.
        options: `forceinline` asks LLVM, `inline="always"` asks numba to put its code in the place of each call.
    """
    if function is None:
        return partial(_kernel_of, borrows=borrows, **options)
    return _kernel_of(function, borrows=borrows, **options)


def _kernel_of(function: Any, *, borrows: bool, **options: Any) -> Any:
    # Always said: a kernel would else take `_nrt` from the one that it is compiled for.
    options |= {"nogil": True, "_nrt": not borrows}
    dispatcher: Any = numba.njit(**options)(function)
    if is_kernel(dispatcher):
        dispatcher._cache = KernelCache(function, borrows=borrows)
        dispatcher.compile = _in_one_process(dispatcher)
        dispatcher.get_call_template = _one_signature(dispatcher.get_call_template)
    return dispatcher


def is_kernel(function: Any) -> bool:
    """Does numba compile this? Nothing if NUMBA_DISABLE_JIT is set: a kernel is then an ordinary function."""
    return isinstance(function, _Dispatcher)


def _one_signature(get_call_template: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """How a kernel that calls another asks for it, without telling constants from other integers.

    numba would compile the called one once more for each constant that somewhere stands as an argument.
    """
    return lambda args, keywords: get_call_template(
        tuple(_unliteral(each) for each in args),
        {name: _unliteral(each) for name, each in keywords.items()},
    )


def _in_one_process(dispatcher: Any) -> Callable[[Any], Any]:
    """How a kernel is compiled while no other process compiles it for the same signature."""
    compile_here: Callable[[Any], Any] = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        # The lock of this process comes first, always: else two threads could wait for two processes, in a circle.
        with global_compiler_lock:
            name = dispatcher._cache.missing_file(signature, dispatcher.targetctx)
            with _file_is_ours(name):
                return compile_here(signature)  # which looks for the file again

    return compile_alone


@contextmanager
def _file_is_ours(name: str | None) -> Iterator[None]:
    """Be the only process that writes a file of `folder()`, if it can be; wait for the one that does.

    A byte of one file stands for each name. The system gives a lock back when the process that has it ends.
    """
    place = folder()
    if name is None or place is None:
        yield
        return
    byte = int(_digest(name)[:15], 16)
    descriptor = _lock(place, byte)
    try:
        yield
    finally:
        if descriptor is not None:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)


def _lock(place: Path, byte: int) -> int | None:
    """Lock a byte of a folder's file of locks and give its descriptor; None if that cannot be.

    Then another process may compile the same, which costs time and nothing else.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            descriptor = _lock_file(place)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            _log.info("kernels in %s cannot be locked: %r", place, error)
            return None
        else:
            return descriptor
    return None  # the other process may be stopped


@cache
def _lock_file(place: Path) -> int:
    """Open for good: closing it once would give all locks of this process back."""
    return os.open(place / ".locks", os.O_RDWR | os.O_CREAT, 0o600)


class _FileLibrary(_Library):  # type: ignore[misc]
    """The machine code of a kernel's file. What LLVM links into callers is parsed once a caller is compiled.

    numba parses it at once, and looks at each of its symbols: half the time that loading takes, and a quarter of
    the memory, for what a process that compiles nothing never needs.
    """

    _bitcode: bytes
    _shared_module: Any

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> _FileLibrary:
        name, _kind, (machine_code, bitcode) = state
        library = cls(codegen, name)
        library._bitcode = bitcode
        library.enable_object_caching()
        library._set_compiled_object(machine_code)
        library._finalize_final_module()
        return library

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> Any:
        self._codegen._engine._defined_symbols.add(name)
        return super().get_pointer_to_function(name)


@contextmanager
def _reading_libraries(codegen: Any) -> Iterator[None]:
    """Let numba make our kind of library of a file's content."""
    with global_compiler_lock:
        codegen._library_class = _FileLibrary  # of this object; its class has numba's own
        try:
            yield
        finally:
            del codegen._library_class


class KernelCache(_Cache):
    """What was compiled of one kernel, in files; the interface is that of numba's caches."""

    def __init__(self, function: Callable[..., Any], *, borrows: bool = False) -> None:
        self._function = function
        self._borrows = borrows
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._given: set[Path] = set()

    @property
    def cache_path(self) -> str:
        return str(folder())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for a signature, None if there is nothing that can be used."""
        target.refresh()
        found = (self._load(path, target) for path in self._paths(signature, target.codegen()))
        return next((each for each in found if each is not None), None)

    def load_new(self, target: Any) -> Iterator[Any]:
        """What was compiled for any signature and not given before; that for this very processor comes first."""
        target.refresh()
        codegen = target.codegen()
        for path in self._files(codegen):
            if path in self._given:
                continue
            self._given.add(path)
            found = self._load(path, target)
            # Kernels that differ in what they close over share all of a file's name but its end.
            if found is not None and path in self._paths(tuple(found.signature.args), codegen):
                yield found

    def _load(self, path: Path, target: Any) -> Any:
        content = _read(path)
        if content is None:
            return None
        try:
            with _reading_libraries(target.codegen()):
                found = CompileResult._rebuild(target, *pickle.loads(content))  # type: ignore[no-untyped-call]
        except Exception as error:
            _log.info("%s cannot be used and is compiled again: %r", path, error)
            return None
        _used_modules.add(self._function.__module__)
        return found

    def missing_file(self, signature: Any, target: Any) -> str | None:
        """The name of the file that compiling a signature would write; None if there is one already."""
        paths = [*self._paths(signature, target.codegen())]
        return None if any(path.exists() for path in paths) else paths[0].name

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled; without a folder that can be written every process compiles for itself.

        Raises:
            TypeError: It should borrow all arrays, and does not.
        """
        if self._borrows:
            _check_borrowing(self._name, compiled)
        place = folder()
        if place is None or compiled.library.has_dynamic_globals:  # which are addresses in this process
            return
        path = place / self._file_name(signature, compiled.codegen.magic_tuple())
        content = dumps(compiled._reduce())  # type: ignore[no-untyped-call]
        try:
            write_whole(path, hashlib.sha256(content).digest() + content)
            for stale in place.glob(f"{_file_stem(self._name)}@*{SUFFIX}"):
                if stale.name.split("@")[1].split("-")[0] != self._stamp:
                    stale.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("compiled kernels cannot be written to %s: %s", place, error)

    def enable(self) -> None:
        """Nothing: it is always enabled."""

    def disable(self) -> None:
        """Nothing: it is always enabled."""

    def flush(self) -> None:
        """Forget all files of this kernel."""
        for place in folders():
            for path in place.glob(f"{_file_stem(self._name)}@*{SUFFIX}"):
                path.unlink(missing_ok=True)

    @property
    def _stamp(self) -> str:
        return _stamp(self._function.__module__)

    def _file_name(self, signature: Any, processor: tuple[str, str, str]) -> str:
        code = self._function.__code__
        # Kernels that are made by a function differ in what they close over only.
        closure = [cell.cell_contents for cell in self._function.__closure__ or ()]
        key = _digest(repr((str(signature), code.co_code, code.co_firstlineno, [repr(each) for each in closure])))
        return f"{_file_stem(self._name)}@{self._stamp}-{_digest(repr(processor))[:8]}-{key[:16]}{SUFFIX}"

    def _files(self, codegen: Any) -> Iterator[Path]:
        """The files of any signature, by processor."""
        for magic in _usable_processors(codegen.magic_tuple()):
            beginning = f"{_file_stem(self._name)}@{self._stamp}-{_digest(repr(magic))[:8]}"
            for place in folders():
                yield from _files_by_beginning(place, _changed_at(place)).get(beginning, ())

    def _paths(self, signature: Any, codegen: Any) -> Iterator[Path]:
        for processor in _usable_processors(codegen.magic_tuple()):
            name = self._file_name(signature, processor)
            yield from (place / name for place in folders())


def _check_borrowing(name: str, compiled: Any) -> None:
    """A kernel that counts no references may neither return an array nor get one from a call: nobody would own it.

    (One that makes an array itself is not compiled by numba.)
    """
    results = [compiled.signature.return_type]
    results += [
        signature.return_type
        for expression, signature in compiled.type_annotation.calltypes.items()
        if getattr(expression, "op", None) == "call"
    ]
    if any(map(_has_arrays, results)):
        msg = f"{name} borrows arrays, so neither it nor what it calls may return one"
        raise TypeError(msg)


def _has_arrays(type_: Any) -> bool:
    parts = [type_.dtype] if isinstance(type_, types.UniTuple) else getattr(type_, "types", ())
    return isinstance(type_, types.Array | types.StructRef) or any(map(_has_arrays, parts))


def folder() -> Path | None:
    """Where compiled kernels are written, None if there is no place for them.

    `TAMIS_KERNELS` names it; by default it is beside the package's byte code, or, where that cannot be written, in
    the user's folder for caches.
    """
    return _writable_folder(os.environ.get(_FOLDER_VARIABLE))


@contextmanager
def use_folder(named: str | None) -> Iterator[Path | None]:
    """Keep compiled kernels in another folder, here and in processes that are started meanwhile; None: the same.

    Gives the folder, None if it cannot be written. Nothing is announced: whoever calls this is about to compile.
    """
    before, announce = os.environ.get(_FOLDER_VARIABLE), compilations.announce
    compilations.announce = lambda _message: None
    if named is not None:
        os.environ[_FOLDER_VARIABLE] = named
    try:
        yield folder()
    finally:
        compilations.announce = announce
        if named is not None:
            del os.environ[_FOLDER_VARIABLE]
        if before is not None:
            os.environ[_FOLDER_VARIABLE] = before


def shipped_folder() -> Path:
    """Where a wheel for one platform brings compiled kernels."""
    return _PACKAGE / "compiled"


_used_modules: set[str] = set()
"""Modules of which a kernel was compiled, loaded or found to be compiled in this process."""


def is_compiled(module: str) -> bool:
    """Was a kernel of this module compiled before, here or by another process: will it start in milliseconds?

    It is a good guess, no promise: other signatures than those that were used are still compiled.
    """
    if module in _used_modules:
        return True
    magic = cpu_target.target_context.codegen().magic_tuple()
    ends = tuple(f"@{_stamp(module)}-{_digest(repr(each))[:8]}" for each in _usable_processors(magic))
    found = any(
        beginning.startswith(f"{_file_stem(module)}.") and beginning.endswith(ends)
        for place in folders()
        for beginning in _files_by_beginning(place, _changed_at(place))
    )
    if found:  # small work asks again and again
        _used_modules.add(module)
    return found


class CompilationLog(numba_events.Listener):
    """How many kernels this process compiled, and how long that took; the first second is announced once."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.announce: Callable[[str], None] = _log.warning
        self._begun = [0.0]
        self._announced = False

    def on_start(self, _event: Any) -> None:
        self._begun.append(time.perf_counter())

    def on_end(self, event: Any) -> None:
        begun, outermost = self._begun.pop(), len(self._begun) == 1
        dispatcher = event.data["dispatcher"]
        if isinstance(dispatcher._cache, KernelCache):
            self.count += 1
            _used_modules.add(dispatcher.py_func.__module__)
        if outermost:
            self.seconds += time.perf_counter() - begun
        under_way = 0.0 if outermost else time.perf_counter() - self._begun[1]
        if not self._announced and self.count and self.seconds + under_way > _NOTICE_SECONDS:
            self._announced = True
            place = folder()
            again = (
                f"They are kept in {place}, so this happens once; `tamis warm` does it beforehand."
                if place is not None
                else "There is no folder to keep them in, so set TAMIS_KERNELS to one that can be written."
            )
            self.announce(f"compiling tamis's kernels for this processor, a minute or two at most. {again}")


compilations = CompilationLog()
numba_events.register("numba:compile", compilations)  # type: ignore[no-untyped-call]


def folders() -> tuple[Path, ...]:
    """Where compiled kernels are read from, in order."""
    place = folder()
    return (shipped_folder(),) if place is None else (place, shipped_folder())


@cache
def _writable_folder(named: str | None) -> Path | None:
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places = [_PACKAGE / "__pycache__" / "kernels", user / "tamis" / f"kernels-{_digest(str(_PACKAGE))[:8]}"]
    for place in [Path(named)] if named else places:
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=place):
                return place.absolute()
        except OSError as error:
            _log.info("compiled kernels cannot be written to %s: %s", place, error)
    return None


def _usable_processors(host: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    """The host, and the baseline if the host has all that it needs; as numba describes processors."""
    triple, _, features = host
    baseline = BASELINE.get(platform.machine())
    if baseline is None or not {f"+{name}" for name in _BASELINE_FEATURES[baseline]} <= set(features.split(",")):
        return [host]
    return [host, (triple, baseline, "")]


def _changed_at(place: Path) -> int:
    return place.stat().st_mtime_ns if place.is_dir() else 0


@lru_cache(maxsize=2)
def _files_by_beginning(place: Path, _changed_ns: int) -> dict[str, list[Path]]:
    """The files of a folder by kernel, stamp and processor; a folder that has not changed is read once."""
    found: dict[str, list[Path]] = {}
    for path in place.glob(f"*{SUFFIX}"):
        found.setdefault(path.name.rpartition("-")[0], []).append(path)
    return found


def _read(path: Path) -> bytes | None:
    """What was written to a file; None if there is none, or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() == digest:
        return content
    _log.info("%s is damaged and is compiled again", path)
    return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader finds all of it or none."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
            file.close()
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise


def _file_stem(name: str) -> str:
    """A kernel's name without what shells and globs take for something else."""
    return re.sub(r"[^\w.]", "_", name.removeprefix("tamis."))


_IMPORT = re.compile(r"^(?:from (tamis[\w.]*) import (\([^)]*\)|[^\n]*)|import (tamis[\w.]*))", re.MULTILINE)


@cache
def _stamp(module: str) -> str:
    """A digest of a module, of all modules of this package that it imports, and of what compiles it.

    numba builds constants and called kernels into a kernel, wherever they are defined.
    """
    reached = {__name__: str(_FORMAT)}  # not its text: a better message here must not cost everybody a minute
    left = [module]
    while left:
        name = left.pop()
        found = None if name in reached or name == _INTERPRETATION else _digest_and_imports(name)
        if found is not None:
            reached[name], imports = found
            left.extend(imports)
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    return _digest(repr((versions, sorted(reached.items()))))[:16]


@cache
def _digest_and_imports(module: str) -> tuple[str, tuple[str, ...]] | None:
    """Of a module of this package; None if there is no such module."""
    source = _source(module)
    return None if source is None else (_digest(source), tuple(_imports(source)))


def _source(module: str) -> str | None:
    """The text of a module of this package; None if there is no such module.

    It must not depend on what this process has imported: other processes would know kernels by other names.
    """
    path = module.removeprefix("tamis").removeprefix(".").replace(".", "/")
    for file in (f"{path}.py", f"{path}/__init__.py") if path else ("__init__.py",):
        try:
            content = pkgutil.get_data("tamis", file)  # also from a zip
        except OSError:
            continue
        return None if content is None else content.decode()
    spec = getattr(sys.modules.get(module), "__spec__", None)
    loader = None if spec is None else spec.loader
    return loader.get_source(module) if isinstance(loader, InspectLoader) else None


def _imports(source: str) -> Iterator[str]:
    """The modules of this package that a module imports when it is loaded, and names that are no modules."""
    for package, names, module in _IMPORT.findall(source):
        yield package or module
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""Output: results to standard output, everything else to standard error.

Escape codes, line wrapping and progress appear only on a terminal. A reader that closes the pipe is not an error:
the rest of the output is silently discarded.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from tamis.errors import TamisError, install_command, naming_write_errors

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PIPE_WIDTH = 1_000_000
_NUMBER = re.compile(r"[0-9.,]+( [kMGT]?B)?")


class Screen(Console):
    """A rich console that wraps and colours on terminals only."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        if not self.is_terminal:
            self.width = _PIPE_WIDTH

    def say(self, text: str, style: str = "") -> None:
        """Print a text with its control characters escaped."""
        self.print(Text(visible(text), style=style))

    def on_broken_pipe(self) -> None:
        """Discard the rest; rich would exit with an error."""
        self.quiet = True
        discard(self.file)


class JsonLines:
    """Writes JSON lines to standard output or a file, as UTF-8 in every locale.

    Attributes:
        closed: Has the reader closed the pipe? Then nothing more is written.
    """

    def __init__(self, file: IO[bytes] | None = None, name: str = "standard output") -> None:
        """Write to a file, or to standard output; `name` is what an error calls it."""
        self.closed = False
        self._file = file if file is not None else sys.stdout.buffer
        self._name = name

    def write(self, value: Any) -> None:
        """Write a value as one line, and flush."""
        self.write_bytes(as_json(value) + b"\n")
        self.flush()

    def write_bytes(self, lines: bytes) -> None:
        """Write lines that are JSON already."""
        self._unless_closed(lambda: self._file.write(lines))

    def flush(self) -> None:
        self._unless_closed(self._file.flush)

    def _unless_closed(self, action: Any) -> None:
        if not self.closed:
            with naming_write_errors(self._name):
                try:
                    action()
                except BrokenPipeError:
                    self.closed = True
                    discard(self._file)


@contextmanager
def open_output(path: str | None) -> Iterator[JsonLines]:
    """JSON lines into a file, or on standard output if the path is None or `-`.

    Raises:
        WriteError: The file cannot be written.
    """
    if path is None or path == "-":
        yield JsonLines()
        return
    with _open(path, 0o666) as file:
        yield JsonLines(file, path)


@contextmanager
def open_private_output(path: str | None) -> Iterator[JsonLines]:
    """The same, into a file that only its owner may read."""
    if path is None or path == "-":
        yield JsonLines()
        return
    with _open(path, 0o600) as file:
        yield JsonLines(file, path)


@contextmanager
def _open(path: str, mode: int) -> Iterator[IO[bytes]]:
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    with naming_write_errors(path):
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb")
    try:
        yield file
    finally:
        with naming_write_errors(path):
            file.close()  # which writes what is left


def as_json(value: Any) -> bytes:
    """The value as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def discard(stream: IO[Any]) -> None:
    """Redirect a stream to the null device, because Python flushes it at exit and would report a broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def visible(text: str) -> str:
    """The text with control characters escaped, so that no input controls the terminal."""
    return _CONTROL_CHARACTERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _JsonHandler(logging.Handler):
    """Writes records to standard error as lines of JSON, each with a `kind` as other lines there have it."""

    def emit(self, record: logging.LogRecord) -> None:
        JsonLines(sys.stderr.buffer).write({"kind": record.levelname.lower(), "message": record.getMessage()})


@contextmanager
def json_warnings() -> Iterator[None]:
    """Write what the library logs meanwhile, from warnings on, as lines of JSON."""
    logger, handler = logging.getLogger("tamis"), _JsonHandler(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def note(text: str) -> None:
    """Print a text on standard error."""
    typer.echo(visible(text), err=True)


def fail(message: str) -> NoReturn:
    """Print an error and exit with code 2."""
    note(f"tamis: error: {message}")
    raise typer.Exit(2)


def missing_file(path: str) -> str:
    """What to say of a file that is not there, with what to try next."""
    return f"{path}: no such file{_instead_of(path)}"


def _instead_of(path: str) -> str:
    """What to try if a file is not there: a file of a similar name, or how to see what is there."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        existing = folder
        while existing and not os.path.isdir(existing):
            existing = os.path.dirname(existing)
        return f", and no folder {folder}; `ls {existing or '.'}` lists what is there"
    close = get_close_matches(name, sorted(os.listdir(folder or ".")), 1, cutoff=0.75)
    if close:
        return f"; did you mean {os.path.join(folder, close[0])}?"
    return f"; `ls {folder or '.'}` lists the files there"


def os_error_text(error: OSError) -> str:
    """The file and the reason of an error of the operating system."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        return missing_file(error.filename)
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


@contextmanager
def printing_errors() -> Iterator[None]:
    """Turn errors that a user can cause into a message and exit code 2."""
    try:
        yield
    except TamisError as error:
        cause = error.__cause__
        missing = cause.filename if isinstance(cause, FileNotFoundError) else None
        fail(f"{error}{_instead_of(missing) if isinstance(missing, str) else ''}")
    except OSError as error:
        fail(os_error_text(error))


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn a package that is not installed into a message with the command that installs it, and exit code 2."""
    try:
        yield
    except ImportError as error:
        fail(f"this needs {error.name or error}, which is not installed: {install_command(extra)}")


def count_text(number: int, noun: str) -> str:
    """A number with its noun: `1 event`, `2,000 events`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def dialect_titles(found: Iterable[Any]) -> tuple[str, ...]:
    """The title of a column with dialects beside conditions, if one of them is not in SQL."""
    return ("dialect",) if any(each.dialect != "sql" for each in found) else ()


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with columns as wide as their content; numbers are right-aligned."""
    screen = Screen()
    table = [list(row) for row in rows]
    widths = [max(len(row[column]) for row in [list(titles), *table]) for column in range(len(titles))]
    right = [all(_NUMBER.fullmatch(row[column]) for row in table) for column in range(len(titles))]
    for number, row in enumerate([list(titles), *table]):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        screen.say(("  " + "  ".join(cells)).rstrip(), style="" if number else "dim")


@contextmanager
def steps(*, shown: bool) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step of the work; it draws on terminals only."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = Screen(stderr=True)
    if not shown or not screen.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("opening")
        yield lambda text: progress.update(task, description=text)

"""Output of commands: JSON lines, tables, and errors as messages."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from tamis.cli.output import (
    JsonLines,
    Screen,
    as_json,
    count_text,
    fail,
    missing_file,
    needs_extra,
    open_output,
    os_error_text,
    print_table,
    printing_errors,
    steps,
    visible,
)
from tamis.errors import TamisError, WriteError
from tamis.events import EventType
from tamis.spark.pipeline_file import load as load_pipeline


def test_json_is_utf8_in_every_locale() -> None:
    assert as_json({"a": "é\ud800"}) == b'{"a": "\xc3\xa9\\ud800"}'


def test_json_lines_go_to_a_file_or_to_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "out.jsonl"
    for path in (str(file), "-", None):
        with open_output(path) as lines:
            lines.write([1])
    assert file.read_bytes() == b"[1]\n"
    assert capfdbinary.readouterr().out == b"[1]\n[1]\n"


def test_a_reader_that_closes_the_pipe_ends_the_output() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as file:
        lines = JsonLines(file)
        lines.write(1)
        assert lines.closed
        lines.write(2)


@pytest.mark.parametrize(
    ("text", "shown"), [("a\x1b[1m", "a\\x1b[1m"), ("\u202eb", "\\u202eb"), ("tab\t\n", "tab\t\n")]
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(("number", "text"), [(0, "0 events"), (1, "1 event"), (2_000, "2,000 events")])
def test_counts(number: int, text: str) -> None:
    assert count_text(number, "event") == text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TamisError("wrong"), "tamis: error: wrong\n"),
        (PermissionError(13, "Permission denied", "x"), "tamis: error: x: Permission denied\n"),
        (OSError("disk"), "tamis: error: disk\n"),
    ],
)
def test_errors_that_a_user_can_cause_are_messages(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught, printing_errors():
        raise error
    assert (caught.value.exit_code, capsys.readouterr().err) == (2, message)
    with pytest.raises(typer.Exit):
        fail("again")


def test_a_file_that_is_missing_comes_with_what_to_do_next(tmp_path: Path) -> None:
    (tmp_path / "cameras.jsonl").touch()
    near, far, beyond = (str(tmp_path / name) for name in ("camera.jsonl", "x", "none/x"))
    assert missing_file(near) == f"{near}: no such file; did you mean {tmp_path}/cameras.jsonl?"
    assert missing_file(far) == f"{far}: no such file; `ls {tmp_path}` lists the files there"
    listing = f"`ls {tmp_path}` lists what is there"
    assert missing_file(beyond) == f"{beyond}: no such file, and no folder {tmp_path}/none; {listing}"
    assert os_error_text(FileNotFoundError(2, "gone", near)) == missing_file(near)


@pytest.mark.parametrize("read", [EventType.load, load_pipeline])
def test_a_file_that_the_library_misses_comes_with_what_to_do_next(
    read: Callable[[Path], object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cameras.toml").touch()
    with pytest.raises(typer.Exit), printing_errors():
        read(tmp_path / "camera.toml")
    said = capsys.readouterr().err
    assert said.endswith(f"camera.toml: No such file or directory; did you mean {tmp_path}/cameras.toml?\n")


def test_tables_align_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count"), [("a", "5"), ("long name", "1,000")])
    assert capsys.readouterr().out.splitlines() == [
        "  name       count",
        "  a              5",
        "  long name  1,000",
    ]


def test_steps_draw_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with steps(shown=True) as step:
        step("working")
    assert capsys.readouterr().err == ""


def test_lines_are_not_wrapped_in_a_pipe() -> None:
    screen = Screen()
    screen.file = io.StringIO()
    screen.say("x" * 500)
    assert screen.file.getvalue() == "x" * 500 + "\n"


def test_a_package_that_is_not_installed_is_named_with_what_installs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit) as ended, needs_extra("service"):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401
    assert ended.value.exit_code == 2
    command = "pip install '.[service]' in a clone of tamis"
    said = f"tamis: error: this needs no_such_package, which is not installed: {command}\n"
    assert capsys.readouterr().err == said


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=f"{tmp_path} cannot be written"), open_output(str(tmp_path)):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_with_the_name_of_the_output() -> None:
    with (
        pytest.raises(WriteError, match="/dev/full cannot be written") as caught,
        open_output("/dev/full") as lines,
    ):
        lines.write([1])
    assert caught.value.kind == "full"
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(WriteError, match="standard output cannot be written"),
    ):
        JsonLines(full).write([1])

"""`tamis client publish` without a service: files, their lines, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tamis.cli.client_publish import _LineReader


def test_lines_of_files_with_their_places(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": 2}')
    second.write_bytes(b'{"a": 3}\n')
    reader = _LineReader([str(first), str(second)])
    assert [(line.strip(), reader.place) for line in reader] == [
        (b'{"a": 1}', f"{first}:1"),
        (b'{"a": 2}', f"{first}:4"),
        (b'{"a": 3}', f"{second}:1"),
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["-", "-"], "only one input can be standard input"),
        (["none.jsonl"], "none.jsonl: no such file; `ls .` lists the files there"),
    ],
)
def test_inputs_are_checked_before_anything_is_sent(
    files: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught:
        _LineReader(files)
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == f"tamis: error: {message}\n"

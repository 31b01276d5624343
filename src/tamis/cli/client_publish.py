"""`tamis client publish`: send the events of files to a service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

import typer

from tamis.cli.client_service import Token, Url, open_client
from tamis.cli.options import Json, Quiet

_STDIN = "-"
_BOM = b"\xef\xbb\xbf"


def publish(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="JSON lines; - for standard input.")],
    type: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="NAME", help="The event type; by default the only declared one, else 'event'."
        ),
    ] = None,
    chunk: Annotated[
        int, typer.Option("--chunk", min=1, metavar="N", help="The greatest number of events in one request.")
    ] = 2000,
    url: Url = None,
    token: Token = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish the events of files, one JSON object per line.

    The service has stored every event that the summary counts. An event whose id it has already stored counts as
    repeated, so a file whose events have ids can safely be published again.

    \b
    Examples:
      tamis client publish events.jsonl --type camera
      generate-events | tamis client publish - --chunk 100

    Exit code 1 if the service refuses events, 2 if a file or the service cannot be reached. Events sent before
    that stay published.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, fail, note, steps

    counts = {"accepted": 0, "repeated": 0}
    warnings: list[str] = []
    reading = _LineReader(files)
    with open_client(url, token, as_json=json) as service:
        from tamis.client.errors import INVALID, ClientError

        try:
            with steps(shown=not json and not quiet) as show:
                for answer in service.publish_chunks(reading, type=type, chunk=chunk):
                    counts["accepted"] += answer.accepted
                    counts["repeated"] += answer.repeated
                    warnings += answer.warnings
                    show(f"{sum(counts.values()):,} events published")
        except ClientError as error:
            before = f"{count_text(sum(counts.values()), 'event')} before it published"
            if error.status is None and error.kind == INVALID:
                # The cause says what is wrong without the number of the event, which the place replaces.
                detail = error.__cause__.detail if isinstance(error.__cause__, ClientError) else error.detail
                fail(f"{reading.place}: {detail}; {before}")
            error.add_note(before)
            raise
        except OSError as error:
            fail(f"{error.filename or reading.place}: {error.strerror or error}")
    if json:
        JsonLines().write(counts | ({"warnings": warnings} if warnings else {}))
    elif not quiet:
        again = f", {counts['repeated']:,} repeated" if counts["repeated"] else ""
        Screen().say(f"{count_text(counts['accepted'], 'event')} accepted{again}")
        for each in warnings:
            note(f"tamis: warning: {each}")


class _LineReader:
    """Iterates over the lines of files, without blank ones.

    Attributes:
        place: File and number of the last line read.
    """

    def __init__(self, files: list[str]) -> None:
        from tamis.cli.output import fail, missing_file

        if files.count(_STDIN) > 1:
            fail("only one input can be standard input")
        for name in files:
            if name != _STDIN and not Path(name).exists():
                fail(missing_file(name))
        self._files = files
        self.place = ""

    def __iter__(self) -> Iterator[bytes]:
        for name in self._files:
            if name == _STDIN:
                yield from self._lines("standard input", sys.stdin.buffer)
            else:
                with open(name, "rb") as file:
                    yield from self._lines(name, file)

    def _lines(self, name: str, file: IO[bytes]) -> Iterator[bytes]:
        self.place = name
        for number, line in enumerate(file, 1):
            self.place = f"{name}:{number}"
            text = line.removeprefix(_BOM) if number == 1 else line
            if text.strip():
                yield text

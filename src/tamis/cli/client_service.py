"""What the commands on a service share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from tamis.client import Client, ClientError

Url: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="Where the service is; by default $TAMIS_URL, else http://127.0.0.1:8765."
    ),
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TEXT",
        help="What lets you in; by default $TAMIS_TOKEN, which a list of processes does not show.",
    ),
]


@contextmanager
def opened(url: str | None, token: str | None, *, as_json: bool, condition: str | None = None) -> Iterator[Client]:
    """The client, for one command; what the service refuses becomes a message and exit code 1, all else 2."""
    from tamis.cli.output import fail, reported_errors

    try:
        from tamis.client import Client, ClientError
    except ImportError as error:
        fail(str(error))
    with reported_errors():
        with Client(url, token=token) as client:
            try:
                yield client
            except ClientError as error:
                if error.status is None:
                    raise
                _refused(error, condition, as_json=as_json)
                raise typer.Exit(1) from error


def _refused(error: ClientError, condition: str | None, *, as_json: bool) -> None:
    """Say what the service refuses; the problems of a condition with its text and carets below it."""
    from dataclasses import asdict

    from tamis.cli.output import JsonLines, note
    from tamis.errors import Problem

    notes = getattr(error, "__notes__", [])
    if as_json:
        problems = [asdict(problem) for problem in error.problems]
        found = {"status": error.status, "kind": error.kind, "detail": error.detail}
        more = {**({"problems": problems} if problems else {}), **({"notes": notes} if notes else {})}
        JsonLines().write({**found, **more})
    elif error.problems and condition is not None:
        places = [Problem(each.message, each.start, each.end, each.hint) for each in error.problems]
        note("\n".join(["the condition is refused:", *(place.render(condition) for place in places)]))
    else:
        note("\n".join([f"tamis: refused: {error}", *notes]))

"""`tamis lab ...`: what the papers claim, measured."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tamis.cli.options import Json, Quiet

lab = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@lab.callback()
def _lab() -> None:
    """Measure the claims of the papers that tamis is built on.

    \b
    Examples:
      tamis lab claims --paper jewel --html claims.html

    Exit code 0 on success; 2 if the command could not be carried out.
    """


@lab.command()
def claims(
    paper: Annotated[
        list[str] | None,
        typer.Option("--paper", metavar="P", help="jewel, bittner, liu, wang or mishra-sahni; may be repeated."),
    ] = None,
    claim: Annotated[
        list[str] | None, typer.Option("--claim", metavar="ID", help="A row, such as J20; may be repeated.")
    ] = None,
    size: Annotated[
        Literal["smallest", "small", "full"],
        typer.Option(
            "--size", help="smallest: does it work; small: minutes for all; full: sizes of the papers, hours."
        ),
    ] = "small",
    seed: Annotated[
        list[int] | None,
        typer.Option("--seed", metavar="N", help="Seed of all data, 2026 by default; may be repeated."),
    ] = None,
    results: Annotated[
        str, typer.Option("--results", metavar="FILE", help="The file of results, as JSON.")
    ] = "claims.json",
    resume: Annotated[bool, typer.Option("--resume", help="Keep existing results, and measure the rest.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write all results as an HTML page.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the claims of five papers: 144 rows, each with a verdict on its direction and on its figure.

    Results are saved after every row, so that --resume can continue a stopped run. Without it, all rows are
    measured again.

    \b
    Examples:
      tamis lab claims --claim J20 --claim B29
      tamis lab claims --size full --resume --html claims.html

    Exit code 0 when all rows were measured, or cannot be tested; 2 if a row or a file is invalid.
    """
    from contextlib import nullcontext
    from pathlib import Path

    from tamis.cli.output import JsonLines, Screen, count_text, printing_errors
    from tamis.lab.claims.page import html_page
    from tamis.lab.claims.registry import ROWS, select_rows
    from tamis.lab.claims.run import Record, Results, figure_of, run_rows
    from tamis.lab.measuring.cases import SEED
    from tamis.numerals import duration_text

    screen, lines = Screen(stderr=True), JsonLines()
    with printing_errors():
        rows, kept = select_rows(paper or (), claim or ()), Results(Path(results))
        seeds = seed or [SEED]
        shown = screen.status("") if screen.is_terminal and not quiet else None

        def report(record: Record, left: int) -> None:
            if json:
                lines.write(record)
            else:
                _print(Screen(), record, ROWS[record["id"]].claim, [figure_of(each) for each in record["figures"]])
            if not quiet:
                took = duration_text(record["seconds"])
                screen.say(f"{record['id']}, seed {record['seed']}: {took}; {count_text(left, 'row')} left")

        def progress(what: str) -> None:
            if shown is not None:
                shown.update(what)

        with shown or nullcontext():
            run_rows(rows, kept, size=size, seeds=seeds, resume=resume, progress=progress, done=report)
        if html is not None:
            Path(html).write_text(html_page(kept.of(ROWS)), "utf-8")


def _print(screen: object, record: dict[str, object], claim: str, figures: list[object]) -> None:
    """One row: its verdicts, and the figures below."""
    from tamis.cli.output import Screen

    assert isinstance(screen, Screen)
    screen.say(f"{record['id']}  {record['direction']} / {record['figure']}  {claim}")
    for each in (*figures, record["note"], record["reason"]):
        if each:
            screen.say(f"     {each}")

"""`tamis warm`: compile the kernels before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from tamis.cli.options import Json, Quiet


def warm(
    folder: Annotated[
        str | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="The folder for the compiled kernels; set TAMIS_KERNELS to it. By default next to the "
            "package, or in the user's cache.",
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="By default one per processor.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels of tamis for this processor in advance.

    Otherwise a kernel is compiled at its first use; all of them take up to a minute. Run this when you build an
    image. Kernels that are already compiled are kept.

    \b
    Examples:
      tamis warm
      tamis warm --folder /opt/tamis/kernels

    Exit code 2 if no folder can be written.
    """
    from rich.progress import Progress

    from tamis import kernels
    from tamis.cli.output import JsonLines, Screen, fail, note
    from tamis.lab.workloads import generate
    from tamis.numerals import duration_text
    from tamis.warm import compile_all

    screen = Screen(stderr=True)
    with kernels.use_folder(folder) as place:
        if place is None:
            what = folder if folder is not None else "any default folder: give another by --folder"
            fail(f"compiled kernels cannot be written to {what}")
        with Progress(console=screen, transient=True, disable=quiet or json or not screen.is_terminal) as bar:
            task = bar.add_task("compiling")
            outcome = compile_all(processes, lambda done, all_: bar.update(task, completed=done, total=all_))
            generate("auction", subscriptions=100, events=100)  # which `tamis demo` begins with
    if json:
        JsonLines().write(
            {
                "compiled": outcome.compiled,
                "seconds": round(outcome.seconds, 3),
                "cpu_seconds": round(outcome.cpu_seconds, 3),
                "folder": str(place),
            }
        )
    elif not quiet:
        done = f"{outcome.compiled} kernels compiled" if outcome.compiled else "all kernels were compiled already"
        spent = f"{duration_text(outcome.seconds)}, {duration_text(outcome.cpu_seconds)} of processor time"
        note(f"{done}: {spent}; they are in {place}")

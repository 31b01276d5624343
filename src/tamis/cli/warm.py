"""`tamis warm`: compile the kernels, and archive the classes of Spark, before they are needed."""

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

    Otherwise a kernel is compiled when it is first needed; all of them take a minute or two. Run this when you
    build an image. Kernels that are already compiled are kept. With Spark and Java 17, it also archives the
    classes of Spark, so that Spark starts in two thirds of the time.

    \b
    Examples:
      tamis warm
      tamis warm --folder /opt/tamis/kernels

    Exit code 2 if no folder can be written.
    """
    from rich.progress import Progress

    from tamis import kernels
    from tamis.cli.demo import compile_generator
    from tamis.cli.output import JsonLines, Screen, fail, note
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
            compile_generator()
            bar.update(task, description="archiving Spark's classes", completed=None, total=None)
            archived = _archive_classes()
    if json:
        JsonLines().write(
            {
                "compiled": outcome.compiled,
                "seconds": round(outcome.seconds, 3),
                "cpu_seconds": round(outcome.cpu_seconds, 3),
                "spark_classes": archived,
                "folder": str(place),
            }
        )
    elif not quiet:
        done = f"{outcome.compiled} kernels compiled" if outcome.compiled else "all kernels were compiled already"
        spent = f"{duration_text(outcome.seconds)}, {duration_text(outcome.cpu_seconds)} of processor time"
        spark = "Spark's classes are archived" if archived else "no archive of Spark's classes"
        note(f"{done}: {spent}; {spark}; all in {place}")


def _archive_classes() -> bool:
    """Where Spark and Java are there, and this Java can."""
    from tamis.cli.output import note
    from tamis.spark import class_archive
    from tamis.spark.session import SparkError, installed_java

    try:
        return class_archive.make(installed_java())
    except SparkError:
        return False
    except class_archive.ClassArchiveError as error:
        note(f"tamis: warning: Spark's classes are not archived, so it starts more slowly: {error}")
        return False

"""The command as a process: start-up, pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
from tamis.cli.app import GROUPS
from tests.cli.conftest import EXAMPLES, Run

COMMAND = [sys.executable, "-m", "tamis"]
COMMANDS = [name for _, _, members in GROUPS for name in members]
EXPLAIN = ["--subscriptions", "cameras.jsonl", "--events", "events.jsonl", "--event-type", "camera.json"]


def test_version(run: Run) -> None:
    assert run("--version").out == f"tamis {tamis.__version__}\n"


def test_help_lists_the_commands(run: Run) -> None:
    """By what they are for, each group with an example that can be typed."""
    text = run("--help").out
    for title, example, members in GROUPS:
        heading, *listed = text.partition(f"{title}:\n")[2].partition("\n\n")[0].splitlines()
        assert heading == f"  $ {example}"
        names = [line.split()[0] for line in listed if not line.startswith("   ")]  # longer texts are indented
        assert names == list(members)
        assert run(*shlex.split(example)[1:], "--help").code == 0, "the command and its options exist"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """What `tamis --show-completion` prints asks the command itself, as the shell would."""
    words = {"COMP_WORDS": "tamis subs a", "COMP_CWORD": "2", "_TYPER_COMPLETE_ARGS": "tamis subs a"}
    asked = (
        os.environ | words | {"_TAMIS_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    done = subprocess.run(COMMAND, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert "add" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples_and_exit_codes(run: Run, command: str) -> None:
    text = run(command, "--help").out
    assert "Examples:\n" in text
    assert f"  tamis {command}" in text
    assert "Exit code" in text


def test_either_spelling_of_the_event_type_is_taken_with_a_warning(run: Run) -> None:
    run("subs", "type", str(EXAMPLES / "camera.json"))
    for number, spelt in enumerate((["--event-type", "camera"], ["--event-type=camera"])):
        done = run("subs", "add", f"s{number}", "price < 300", *spelt)
        assert (done.code, done.err) == (0, "tamis: warning: --event-type is called --type here\n")
    assert run("subs", "add", "s2", "price < 300", "--type", "camera").err == ""
    done = run("lint", str(EXAMPLES / "cameras.jsonl"), "--quiet", "--type", str(EXAMPLES / "camera.json"))
    assert (done.code, done.err) == (0, "tamis: warning: --type is called --event-type here\n")
    done = run("subs", "add", "s3", "--type", "camera", "--", "--event-type")
    assert done.code == 1, "after -- it is a condition"


def test_unknown_command_is_a_usage_error(run: Run) -> None:
    assert run("sieve").code == 2


@pytest.mark.parametrize("arguments", ["['--help']", "['--version']", "['match', '--help']"])
def test_help_and_version_import_nothing_heavy(arguments: str) -> None:
    program = (
        "import sys\nfrom tamis.cli.app import app\n"
        f"app({arguments}, standalone_mode=False)\n"
        "heavy = {'numba', 'numpy', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_module_runs_as_a_command_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("price < 10\nprice <\n")
    arguments = ["match", "--subscriptions", "s.txt", "--events", "-"]
    events = '{"price": 1, "id": "é"}\nbroken\n'
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=events.encode(),
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.decode() == '{"event_id": "é", "subscription_id": "1"}\n'
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"s.txt:2: subscription '2' is refused:" in done.stderr
    assert b"standard input:2: bad event: not JSON" in done.stderr


@pytest.mark.slow
def test_reader_that_closes_the_pipe_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("price > 0\n")
    (tmp_path / "e.jsonl").write_text('{"price": 1}\n' * 50_000)
    arguments = ["match", "--subscriptions", "s.txt", "--events", "e.jsonl", "--batch-rows", "1000"]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert json.loads(first) == {"event_id": 0, "subscription_id": "1"}
    assert (process.returncode, said) == (0, b"")


@pytest.mark.slow
def test_pairs_are_written_as_events_come(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("price > 0\n")
    arguments = ["match", "--subscriptions", "s.txt", "--events", "-", "--batch-rows", "1", "--quiet"]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for row in range(2):
            process.stdin.write(b'{"price": 1}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["event_id"] == row
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_on_a_terminal_unless_unwanted(variables: dict[str, str], coloured: bool) -> None:
    ignored = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "200", **variables}
    ours, theirs = pty.openpty()
    command = [*COMMAND, "explain", *EXPLAIN, "--id", "bargain", "--event", "e3"]
    with subprocess.Popen(command, stdout=theirs, stdin=theirs, cwd=EXAMPLES, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # how Linux says that the other end has closed
            pass
        os.close(ours)
    assert process.returncode == 0
    assert (b"\x1b[31m" in shown) is coloured
    assert (b"\x1b[32m" in shown) is coloured


@pytest.mark.slow
def test_public_names_are_the_same_whatever_was_imported_first() -> None:
    program = (
        "import tamis.explain, tamis.matcher\n"
        "import tamis\n"
        "assert all(hasattr(tamis, name) for name in tamis.__all__)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

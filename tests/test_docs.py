"""The documentation tells the truth: its examples run, its links lead somewhere, its references are complete.

On every page, a Python example is a session (`>>>`), run as a doctest, or plain code, run in one namespace for
the page; what plain code prints is compared with the text block that follows it. In a console example, every
line that starts with `$ tamis` or `$ python` is run and its standard output compared. Both run in a copy of
`examples/`, pages of the gallery in the folder of their name there, and `...` in an expected output stands for
anything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import tamis
import tamis.client
import tamis.routing
import tamis.spark
import tamis.store
from tamis.cli.app import app
from tamis.functions import FUNCTIONS
from tamis.language.derived_calls import DERIVED
from tamis.limits import Limits
from tamis.syntax.tokens import KEYWORDS
from tests.browsers import browser
from tests.command import invoke
from tests.operators.recording import operators_as_before
from tests.pages import FENCE, OPTIONS, Block, blocks, check, commands

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
SOURCE = Path(tamis.__path__[0])
EXEMPLIFIED = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text("utf-8"))

INTERNAL = {"read", "field", "cast", "[]", "case", "binds"}
"""Names that no condition calls: the analyser puts them in, or they have a syntax of their own."""
BEYOND_REGISTRY = {"exists", "forall", "cast", "try_cast", "extract", "struct"}
BEYOND_REGISTRY |= DERIVED.keys() | {"transform", "filter", "zip_with", "aggregate", "reduce"}
"""Forms with a grammar of their own, documented among the functions."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


@pytest.fixture
def in_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path) -> Iterator[None]:
    """Work in a copy of `examples/`, which a page may add to; what it imports and installs is forgotten."""
    copy = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", copy)
    home = copy / page.stem if page.parent == DOCS / "gallery" else copy
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(home)
    monkeypatch.setenv("NO_COLOR", "1")
    modules = set(sys.modules)
    with operators_as_before():
        yield
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(copy)):
            del sys.modules[name]


def _needs_spark(page: Path) -> bool:
    return any(block.language == "python" and "tamis.spark" in block.content for block in blocks(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in _pages_with("python") if not _needs_spark(page)], ids=_name)
@pytest.mark.usefixtures("in_examples")
def test_python_examples_do_what_the_page_says(page: Path) -> None:
    _run_page(page)


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in _pages_with("python") if _needs_spark(page)], ids=_name)
@pytest.mark.usefixtures("in_examples", "spark")
def test_python_examples_on_spark_do_what_the_page_says(page: Path) -> None:
    _run_page(page)


def _run_page(page: Path) -> None:
    names: dict[str, object] = {"__name__": page.stem}
    found = blocks(page)
    following = [*found[1:], Block("", "", 0)]
    for block, after in zip(found, following, strict=True):
        if block.language != "python":
            continue
        place = f"{_name(page)}:{block.line}"
        if ">>>" in block.content:
            _run_session(block, place, names)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (block.line - 1) + block.content, str(page), "exec"), names)
        check(after.content if after.language == "text" else "", printed.getvalue(), place)


def _run_session(block: Block, place: str, names: dict[str, object]) -> None:
    session = doctest.DocTestParser().get_doctest(block.content, names, place, place, block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(session, out=said.append, clear_globs=False)
    names.update(session.globs)
    if said:
        pytest.fail("".join(said), pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", _pages_with("console"), ids=_name)
@pytest.mark.usefixtures("in_examples")
def test_commands_print_what_the_page_says(page: Path) -> None:
    for block in blocks(page):
        if block.language == "console":
            for line, command, expected in commands(block):
                place = f"{_name(page)}:{line}: {command}"
                program, *arguments = shlex.split(command)
                if program == "python":
                    (script,) = arguments
                    with contextlib.redirect_stdout(io.StringIO()) as printed:
                        runpy.run_path(script, run_name="__main__")
                    check(expected, printed.getvalue(), place)
                    continue
                result = invoke(*arguments)
                if result.exception is not None and not isinstance(result.exception, SystemExit):
                    raise result.exception
                check(expected, result.stdout, f"{place}\n{result.stderr}")


def _module_name(path: Path) -> str:
    return ".".join(("tamis", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


@pytest.mark.parametrize("path", EXEMPLIFIED, ids=_module_name)
def test_examples_in_docstrings_hold(path: Path) -> None:
    module = importlib.import_module(_module_name(path))
    said: list[str] = []
    for session in doctest.DocTestFinder(exclude_empty=True).find(module):
        doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(session, out=said.append)
    if said:
        pytest.fail("".join(said), pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    broken = [target for target in _LINK.findall(text) if not _resolves(page, target)]
    assert not broken, broken


def _resolves(page: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return True
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return False
    return not anchor or anchor in _anchors(file)


def _anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text("utf-8"))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in kept} | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:tests|src|scripts|benchmarks)/[\w./*-]+)`", page.read_text("utf-8"))
    missing = [name for name in named if not list(ROOT.glob(name.rstrip("/")))]
    assert not missing, missing


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def _language() -> str:
    return (DOCS / "language.md").read_text("utf-8")


def _documented_functions() -> set[str]:
    """The names called in the first column of the tables of functions."""
    section = _language().partition("\n## Functions\n")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([a-z_0-9]+)\(", cell)}


def test_every_function_is_documented() -> None:
    callable_ = {name for name in FUNCTIONS if name.isidentifier() and not name.startswith("is_")}
    words = {name for name in callable_ if name in KEYWORDS}
    missing = callable_ - words - INTERNAL - _documented_functions()
    assert not missing, sorted(missing)


def test_every_documented_function_exists() -> None:
    unknown = _documented_functions() - FUNCTIONS.keys() - BEYOND_REGISTRY
    assert not unknown, sorted(unknown)


def test_every_operator_and_keyword_is_documented() -> None:
    operators = {name for name in FUNCTIONS if not name.isidentifier()} - INTERNAL
    # A pipe cannot stand between back quotes in a table.
    page = re.sub(r"<code>(.*?)</code>", r"`\1`", _language()).replace("&#124;", "|")
    written = {word for code in re.findall(r"`([^`\n]+)`", page) for word in code.split()}
    missing = (operators | {word.upper() for word in KEYWORDS}) - written
    assert not missing, sorted(missing)


def test_every_limit_is_documented() -> None:
    missing = [field.name for field in dataclasses.fields(Limits) if f"`{field.name}`" not in _language()]
    assert not missing


def test_every_public_name_is_documented() -> None:
    page = (DOCS / "python.md").read_text("utf-8")
    missing = [name for name in tamis.__all__ if not re.search(rf"\b{name}\b", page)]
    assert not missing


def test_every_command_is_documented() -> None:
    page = (DOCS / "command-line.md").read_text("utf-8")
    command = typer.main.get_command(app)
    assert hasattr(command, "commands")
    missing = [name for name in command.commands if f"`tamis {name}`" not in page]
    assert not missing


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, without a broken link."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_every_public_name_and_no_private_one(site: Path) -> None:
    described = _described(site)
    modules = re.findall(r"^::: (\S+)", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    packages = [importlib.import_module(module) for module in modules]
    public = {f"{package.__name__}.{name}" for package in packages for name in getattr(package, "__all__", ())}
    assert {"tamis", "tamis.spark", "tamis.store", "tamis.sinks", "tamis.client"} <= set(modules)
    assert public <= described | {"tamis.__version__"}
    assert not [name for name in described if re.search(r"\._", name)]


@pytest.mark.slow
def test_the_site_describes_what_examples_import(site: Path) -> None:
    """Those of the pages for users; explanations and papers show parts of the laboratory."""
    described = _described(site)
    missing = {
        f"{_name(page)}: {name}"
        for page in _pages_with("python")
        if _is_for_users(page)
        for name in _imported(page)
        if name not in described
    }
    assert not missing, sorted(missing)


def _described(site: Path) -> set[str]:
    return set(re.findall(r'<h\d id="(tamis[^"]*)"', (site / "api.html").read_text("utf-8")))


def _is_for_users(page: Path) -> bool:
    """Is it in a section of the navigation that shows how to use tamis?"""
    if not page.is_relative_to(DOCS):
        return page.name == "README.md"
    before = (ROOT / "mkdocs.yml").read_text("utf-8").partition(f": {page.relative_to(DOCS).as_posix()}\n")[0]
    section = re.findall(r"^  - (.*?):", before, re.MULTILINE)[-1:]
    return section not in (["Explanation"], ["Papers"], ["Benchmarks"])


def _imported(page: Path) -> set[str]:
    """What the examples of a page import from tamis."""
    text = "\n".join(block.content for block in blocks(page) if block.language == "python")
    lines = re.findall(r"^\W*from (tamis[\w.]*) import (.+)$", text, re.MULTILINE)
    modules = set(re.findall(r"^\W*import (tamis[\w.]*)$", text, re.MULTILINE))
    return modules | {f"{module}.{name.strip()}" for module, names in lines for name in names.split(",")}


@pytest.mark.slow
def test_the_site_is_searched_from_a_folder_and_fetches_nothing_from_elsewhere(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "how-to" / "sinks.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("watermark")
    page.locator(".md-search-result__item", has_text="Composite subscriptions").first.wait_for()
    page.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "about:"))]


def test_the_list_for_language_models_is_up_to_date() -> None:
    command = [sys.executable, "scripts/llms.py", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0

"""The shape of the tree: packages in the order in which data moves, their size, purpose and imports.

`python scripts/map.py` prints it and fails where a package imports a later one, where the product imports the
laboratory, or where the drawing in `docs/architecture.md` is not this one; `--write` draws it there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "tamis"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- map: written by `make map ARGS=--write` -->", "<!-- end of map -->"

LAYERS = {
    "foundation": (
        "errors",
        "limits",
        "_version",
        "urls",
        "numerals",
        "sql",
        "arrays",
        "kernels",
        "interpretation",
        "hashing",
        "values",
    ),
    "language": (
        *("syntax", "functions", "patterns", "formulas", "statistics", "selectivity"),
        *("events", "operators", "language"),
    ),
    "matching": ("frames", "engines", "verification", "schedule", "snapshot", "segments"),
    "matcher": ("reference", "explain", "matcher", "composite", "matchers", "store"),
    "delivery": (
        "notifications",
        "sinks",
        "quotas",
        "routing",
        "sizing",
        "progress",
        "metrics",
        "report",
        "warm",
        "spark",
    ),
    "outside": ("client", "service", "lab", "cli", "__main__", "tamis"),
}
"""Packages and single modules, each importing only those before it; `tamis` is `tamis/__init__.py`."""
ORDER = tuple(package for layer in LAYERS.values() for package in layer)
LABORATORY = "lab"
_MAY_USE_LABORATORY = ("cli.generate", "cli.demo", "cli.demo_plain_spark", "cli.demo_report", "cli.lab")
"""The modules of the commands that the laboratory is for; no other of the product may import it."""
TOP = "tamis"
"""`tamis/__init__.py`, which imports nearly everything: a name of it stands for the whole."""


@dataclass(frozen=True)
class Module:
    """A module, by its name below `tamis`, and the modules below `tamis` that it imports anywhere in its text."""

    name: str
    imports: frozenset[str]
    lines: int
    purpose: str

    @property
    def package(self) -> str:
        """The package, or single module, in the order."""
        return self.name.partition(".")[0]

    def importing(self, name: str) -> Module:
        """The same module with one more import."""
        return replace(self, imports=self.imports | {name})


@cache
def read_modules() -> tuple[Module, ...]:
    """All modules of `src/tamis`, by name."""
    found = (read_module(path, path.read_text("utf-8")) for path in SOURCE.rglob("*.py"))
    return tuple(sorted(found, key=lambda module: module.name))


def read_module(path: Path, text: str) -> Module:
    """The module of a file below `src/tamis`, with this text in it."""
    tree = ast.parse(text)
    parts = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "tamis"
    purpose = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return Module(name, frozenset(_imports(tree)), text.count("\n"), purpose)


def _imports(tree: ast.Module) -> Iterator[str]:
    """What the module imports from tamis: lazily and for types only, too; of names, where they stand.

    A name that `tamis` itself gives, as in `from tamis import Matcher`, counts as an import of `TOP`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == TOP:
            names = [f"{TOP}.{alias.name}" if alias.name in ORDER else TOP for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix(f"{TOP}.") for name in names if name.partition(".")[0] == TOP)


def _between(modules: Iterable[Module]) -> Iterator[tuple[Module, str]]:
    """Imports that lead from one package to another."""
    for module in modules:
        for name in sorted(module.imports):
            if name.partition(".")[0] != module.package:
                yield module, name


def backward_imports(modules: Iterable[Module]) -> list[tuple[str, str]]:
    """Imports of a later package."""
    places = {package: place for place, package in enumerate(ORDER)}
    return [
        (module.name, name)
        for module, name in _between(modules)
        if places[name.partition(".")[0]] > places[module.package]
    ]


def laboratory_imports(modules: Iterable[Module]) -> list[tuple[str, str]]:
    """Imports of the laboratory by the product."""
    return [
        (module.name, name)
        for module, name in _between(modules)
        if name.partition(".")[0] == LABORATORY and module.name not in _MAY_USE_LABORATORY
    ]


def drawing(modules: Sequence[Module]) -> str:
    """The packages in order, as a table of Markdown; without lines, which change with every commit."""
    lines = ["| layer | package | purpose | imports |", "|---|---|---|---|"]
    for layer, package, inside in _by_package(modules):
        purpose = next((module.purpose for module in inside if module.name == package), "").rstrip(".")
        lines.append(f"| {layer} | `{package}` | {purpose} | {', '.join(_imported(inside))} |")
    return "\n".join(lines)


def sizes(modules: Sequence[Module]) -> str:
    """The packages in order with their lines, for a terminal."""
    lines = []
    for layer, package, inside in _by_package(modules):
        total = sum(module.lines for module in inside)
        purpose = next((module.purpose for module in inside if module.name == package), "").rstrip(".")
        lines.append(
            f"{layer:11}{package:14}{total:7,}  {purpose}\n{'':34}imports {', '.join(_imported(inside)) or '-'}"
        )
    product = sum(module.lines for module in modules if module.package != LABORATORY)
    laboratory = sum(module.lines for module in modules) - product
    return "\n".join([*lines, "", f"product {product:,} lines, laboratory {laboratory:,}"])


def _by_package(modules: Sequence[Module]) -> Iterator[tuple[str, str, list[Module]]]:
    for layer, packages in LAYERS.items():
        for package in packages:
            yield layer, package, [module for module in modules if module.package == package]


def _imported(modules: Iterable[Module]) -> list[str]:
    names = {name.partition(".")[0] for _, name in _between(modules)}
    return [name for name in ORDER if name in names]


def main(arguments: Sequence[str]) -> int:
    """Print the map and what is wrong with it."""
    modules = read_modules()
    drawn = drawing(modules)
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    if "--write" in arguments:
        PAGE.write_text(f"{before}{BEGIN}\n{drawn}\n{END}{after}", "utf-8")
        old = drawn
    print(sizes(modules))
    problems = [f"{importer} imports the later {name}" for importer, name in backward_imports(modules)]
    problems += [f"{importer} imports {name} of the laboratory" for importer, name in laboratory_imports(modules)]
    if old.strip() != drawn:
        problems.append("docs/architecture.md shows another tree: make map ARGS=--write")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

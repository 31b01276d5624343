"""The order of packages: data moves one way, and a package imports only those before it, lazily or not."""

from __future__ import annotations

import pytest

from scripts.map import (
    ORDER,
    PAGE,
    SOURCE,
    backward_imports,
    drawing,
    laboratory_imports,
    read_module,
    read_modules,
)


def test_no_package_imports_a_later_one() -> None:
    assert backward_imports(read_modules()) == []


def test_the_product_never_imports_the_laboratory() -> None:
    assert laboratory_imports(read_modules()) == []


def test_every_package_has_its_place() -> None:
    assert {module.package for module in read_modules()} == set(ORDER)


def test_the_drawn_architecture_is_that_of_the_tree() -> None:
    assert drawing(read_modules()) in PAGE.read_text("utf-8"), "make map ARGS=--write"


@pytest.mark.parametrize(
    ("importer", "imported"),
    [("values.types", "language.bulk"), ("engines.base", "lab"), ("events", "spark.stream")],
)
def test_a_backward_import_is_found(importer: str, imported: str) -> None:
    changed = [each.importing(imported) if each.name == importer else each for each in read_modules()]
    assert backward_imports(changed) == [(importer, imported)]


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("from tamis import Matcher", "tamis"),
        ("import tamis", "tamis"),
        ("def late():\n    from tamis import EventBatch, errors", "tamis"),
        ("from tamis import spark", "spark"),
        ("import tamis.spark.stream", "spark.stream"),
    ],
)
def test_names_of_the_top_are_imports_of_all_that_it_imports(text: str, imported: str) -> None:
    assert backward_imports([read_module(SOURCE / "values" / "types.py", text)]) == [("values.types", imported)]


def test_a_module_that_is_imported_from_the_top_is_no_more_than_that_module() -> None:
    text = "from tamis import errors, kernels\nfrom tamis.arrays import I64"
    assert backward_imports([read_module(SOURCE / "values" / "types.py", text)]) == []


@pytest.mark.parametrize(
    ("module", "found"), [("generate", 0), ("demo", 0), ("lab", 0), ("warm", 1), ("match", 1)]
)
def test_only_three_commands_import_the_laboratory(module: str, found: int) -> None:
    read = read_module(SOURCE / "cli" / f"{module}.py", "def run():\n    from tamis.lab.workloads import generate")
    assert len(laboratory_imports([read])) == found

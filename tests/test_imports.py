"""The order of packages: data moves one way, and a package imports only those before it, lazily or not."""

from __future__ import annotations

import pytest

from scripts.map import ORDER, PAGE, backward_imports, drawing, laboratory_imports, read_modules


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

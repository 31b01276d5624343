"""The plots and tables of the benchmark pages are those of their data, and the headline page quotes the others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts import plots

BARS = {
    "plot": {
        "kind": "bars",
        "title": "Times & <engines>",
        "unit": "us",
        "columns": ["ours", "theirs"],
        "ours": ["ours"],
    },
    "columns": ["workload", "ours", "theirs", "bar"],
    "rows": [["`a`", "10 (9-12)", "1,000 at 200", "20, missed"], ["`b`", "100", "not built", ""]],
}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "times.json").write_text(json.dumps(BARS), "utf-8")
    (tmp_path / "page.md").write_text(
        "before\n<!-- table: times -->\nold\n<!-- end of table -->\nbetween\n"
        "<!-- table: times -->\n<!-- end of table -->\nafter\n",
        "utf-8",
    )
    return tmp_path


def test_plots_and_tables_of_the_pages_are_up_to_date() -> None:
    assert plots.main(["--check"]) == 0


def test_every_plot_has_data_and_every_page_shows_it() -> None:
    shown = set(re.findall(r"\((\S+\.svg)\)", (plots.PAGES / "index.md").read_text("utf-8")))
    assert shown == {path.name for path in plots.PAGES.glob("*.svg")}
    assert {name.removesuffix(".svg") for name in shown} <= {
        path.stem for path in (plots.PAGES / "data").glob("*")
    }


def test_plots_have_one_width_and_follow_the_colour_scheme() -> None:
    for path in plots.PAGES.glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.attrib["viewBox"].split()[2] == str(plots.WIDTH)
        assert "prefers-color-scheme:dark" in path.read_text("utf-8")


def test_letters_are_large_enough_on_a_phone() -> None:
    """A page on a screen of 375 pixels has 16 of them as a margin on either side."""
    assert plots.LETTER_HEIGHT * (375 - 2 * 16) / plots.WIDTH >= 9
    assert {int(size) for size in re.findall(r"(\d+)px", plots.STYLE)} == {plots.LETTER_HEIGHT, 15}


def test_check_names_what_is_out_of_date_and_writes_nothing(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (pages / "page.md").read_text("utf-8")
    assert plots.main(["--check"], pages) == 1
    assert re.findall(r"^\S+", capsys.readouterr().err, re.MULTILINE) == ["times.svg", "page.md"]
    assert (pages / "page.md").read_text("utf-8") == before
    assert not (pages / "times.svg").exists()


def test_writing_makes_the_check_pass_until_a_figure_changes(pages: Path) -> None:
    assert plots.main([], pages) == 0
    assert plots.main(["--check"], pages) == 0
    data = pages / "data" / "times.json"
    data.write_text(data.read_text("utf-8").replace("10 (9-12)", "11 (9-12)"), "utf-8")
    assert plots.main(["--check"], pages) == 1


def test_a_table_is_written_between_its_marks_only(pages: Path) -> None:
    plots.main([], pages)
    table = (
        "<!-- table: times -->\n\n| workload | ours | theirs | bar |\n|---|---|---|---|\n"
        "| `a` | 10 (9-12) | 1,000 at 200 | 20, missed |\n| `b` | 100 | not built | |\n\n<!-- end of table -->\n"
    )
    assert (pages / "page.md").read_text("utf-8") == f"before\n{table}between\n{table}after\n"


def test_a_table_may_leave_out_what_the_plot_does_not_draw(pages: Path) -> None:
    (pages / "page.md").write_text("<!-- table: times plotted -->\n<!-- end of table -->\n", "utf-8")
    plots.main([], pages)
    assert "\n| workload | ours | theirs |\n|---|---|---|\n| `a` |" in (pages / "page.md").read_text("utf-8")


def test_a_plot_shows_the_figures_as_the_table_has_them(pages: Path) -> None:
    plots.main([], pages)
    root = ElementTree.parse(pages / "times.svg").getroot()
    values = [node.text for node in root.iter() if node.attrib.get("class") == "value"]
    assert values == ["10", "1,000 at 200", "100"]
    assert "Times & <engines>" in [node.text for node in root.iter()]


def test_longer_bars_are_larger_figures(pages: Path) -> None:
    plots.main([], pages)
    root = ElementTree.parse(pages / "times.svg").getroot()
    widths = [float(node.attrib["width"]) for node in root.iter() if "var(--" in node.attrib.get("style", "")]
    ours, theirs, alone = widths
    assert theirs == pytest.approx(3 * ours, abs=0.3)
    assert alone == pytest.approx(2 * ours, abs=0.3)


def test_a_row_that_lacks_a_cell_is_refused(pages: Path) -> None:
    (pages / "data" / "times.json").write_text(json.dumps({**BARS, "rows": [["`a`", "1"]]}), "utf-8")
    with pytest.raises(ValueError, match=r"times\.json"):
        plots.main([], pages)


def test_every_figure_of_the_headline_page_is_on_the_page_of_a_benchmark() -> None:
    def figures(text: str) -> set[str]:
        return set(re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.,]*\d)", text))

    headline = (plots.PAGES / "index.md").read_text("utf-8")
    cells = "\n".join(line for line in headline.splitlines() if line.startswith("|"))
    others = [page for page in plots.PAGES.glob("*.md") if page.name != "index.md"]
    known = set().union(*(figures(page.read_text("utf-8")) for page in others))
    assert figures(cells) - known == set()

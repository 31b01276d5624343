"""Pages are made from results alone, and texts in them never become markup."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from scripts.claims_tables import RESULTS, outputs, plot
from tamis.lab.claims.page import html_page, markdown_table
from tamis.lab.claims.registry import PAPERS, ROWS
from tamis.lab.claims.run import Record, Results


def _record(id_: str, **more: object) -> Record:
    figures = [
        {"what": "a <b>", "ours": [1.0, 3.0, 2.0], "theirs": [2.0, 2.0], "size": None, "agreement": "agrees"},
        {"what": "plain", "ours": [5.0], "theirs": None, "size": None, "agreement": "none given"},
    ]
    known: Record = {
        "id": id_,
        "size": "small",
        "seed": 1,
        "revision": "abc",
        "seconds": 1.0,
        "reason": "",
        "note": "",
    }
    return known | {"direction": "holds", "figure": "agrees", "figures": figures} | more


def test_the_page_has_the_rows_their_verdicts_and_their_figures() -> None:
    untested = {"direction": "cannot be tested", "figure": "cannot be tested", "figures": [], "reason": "no <i>"}
    results = {"J1": [_record("J1")], "J13": [_record("J13", **untested)], "W2": [_record("W2")]}
    page = html_page(results)
    assert "a &lt;b&gt;: 2 (1-3) (theirs 2)" in page and "a <b>" not in page
    assert "cannot be tested" in page and "no &lt;i&gt;" in page
    assert page.index(">J1<") < page.index(">J13<") < page.index(">W2<")
    assert "small" in page and "abc" in page and 'id="liu"' not in page


def test_seeds_are_told_apart() -> None:
    page = html_page({"J1": [_record("J1", seed=1), _record("J1", seed=2, direction="fails")]})
    assert "seed 1" in page and "seed 2" in page
    assert '<td class="fails">fails' in page


def test_a_table_shows_figures_that_have_one_of_theirs_first() -> None:
    figures = [
        {"what": f"f{place}", "ours": [1.0], "theirs": theirs, "size": None, "agreement": "agrees"}
        for place, theirs in enumerate((None, None, None, [1.0, 1.0]))
    ]
    table = markdown_table(PAPERS["jewel"], {"J1": [_record("J1", figures=figures)]})
    assert "f0: 1; f1: 1; f3: 1 (theirs 1); 1 more |" in table
    assert "seed 1, revision abc" in table
    with_note = markdown_table(PAPERS["jewel"], {"J1": [_record("J1", note="counted, not timed")]})
    assert "plain: 5. *Note:* counted, not timed |" in with_note
    assert markdown_table(PAPERS["wang"], {}) == "No results yet.\n"


def test_a_plot_has_a_dot_for_each_figure_beside_one_of_theirs() -> None:
    results = {row: [_record(row, direction="fails" if row == "J2" else "holds")] for row in PAPERS["jewel"].rows}
    drawn = plot(PAPERS["jewel"], results)
    root = ElementTree.fromstring(drawn)
    dots = [node for node in root.iter() if "fill-opacity" in node.attrib.get("style", "")]
    assert len(dots) == len(results), "the figure without one of theirs is not drawn"
    assert {node.attrib["style"].split(";")[0] for node in dots} == {"fill:var(--c2)"}
    assert f"holds: {len(results) - 1}" in drawn and "fails: 1" in drawn


def test_the_pages_of_papers_have_the_tables_and_plots_of_the_kept_results() -> None:
    for path, text in outputs().items():
        assert path.read_text("utf-8") == text, "python -m scripts.claims_tables --write"
    kept = Results(RESULTS).of(ROWS)
    assert set(kept) == set(ROWS), "every row has a result"
    assert Path(RESULTS).name == "claims.json"

"""An explanation as an HTML tree."""

from __future__ import annotations

from xml.dom import minidom

from tamis import EventBatch, compile_condition
from tamis.explain import explain
from tamis.report.tree import explanation_tree


def text(element: minidom.Element) -> str:
    return "".join(node.data for node in element.childNodes if isinstance(node, minidom.Text))


def test_every_part_has_its_verdict_and_values() -> None:
    condition = compile_condition("a > 1 AND (b = 'x' OR c < 2)")
    drawn = explanation_tree(explain(condition, EventBatch.of({"a": 2, "b": "<i>"})))
    tree = minidom.parseString(drawn)
    parts = [
        (span.getAttribute("class"), text(span.getElementsByTagName("bdi")[0]))
        for span in tree.getElementsByTagName("span")
    ]
    assert parts == [
        ("part open", "AND"),
        ("part yes", "a > 1"),
        ("part open", "OR"),
        ("part no", "b = 'x'"),
        ("part open", "c < 2"),
    ]
    values = [text(small) for small in tree.getElementsByTagName("small")]
    assert values == ["a = 2", "b = '<i>'", "c = NULL"]

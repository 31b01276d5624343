"""An explanation as an HTML tree: every part of the condition with its verdict and its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.report.markup import escape

if TYPE_CHECKING:
    from tamis.explain import ExplainedPart, Explanation

_VERDICTS = {True: ("✓", "yes", "true"), False: ("✗", "no", "false"), None: ("?", "open", "unknown")}

STYLE = """
:root{--yes:#17693f;--no:#a83232;--open:#755900;--yes-ground:#e7f5ed;--no-ground:#fbecec;--open-ground:#faf3da}
@media(prefers-color-scheme:dark){:root{--yes:#6fd3a0;--no:#f39a9a;--open:#e6c65c;--yes-ground:#173427;
--no-ground:#3a2022;--open-ground:#37301a}}
.tree,.tree ul{list-style:none;margin:0;padding:0}
.tree ul{margin-left:.8rem;padding-left:.9rem;border-left:2px solid var(--line)}
.tree li{margin:.3rem 0}
.part{display:inline-block;max-width:100%;padding:.12rem .55rem;border-radius:6px;
font:.9rem/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
.part b{margin-right:.35rem}
.part small{margin-left:.5rem;color:var(--soft);font-size:.85em}
.yes{color:var(--yes);background:var(--yes-ground)}
.no{color:var(--no);background:var(--no-ground)}
.open{color:var(--open);background:var(--open-ground)}
"""


def explanation_tree(explanation: Explanation) -> str:
    """The tree as nested lists."""
    return f'<ul class="tree">{_item(explanation.tree)}</ul>'


def _item(part: ExplainedPart) -> str:
    mark, style, word = _VERDICTS[part.verdict]
    values = ", ".join(f"{name} = {value}" for name, value in part.values.items() if name != part.text)
    small = f"<small>{escape(values)}</small>" if values else ""
    inner = f"<ul>{''.join(map(_item, part.parts))}</ul>" if part.parts else ""
    label = f'<b title="{word}">{mark}</b><bdi>{escape(part.label)}</bdi>{small}'
    return f'<li><span class="part {style}">{label}</span>{inner}</li>'

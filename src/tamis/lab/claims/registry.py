"""All rows, by paper and by id."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.errors import TamisError
from tamis.lab.claims import (  # noqa: F401 - for their rows
    bittner_advertisements,
    bittner_covering,
    bittner_pruning,
    jewel_filters,
    jewel_pipelines,
    liu_chains,
)
from tamis.lab.claims.bittner import BITTNER
from tamis.lab.claims.jewel import JEWEL
from tamis.lab.claims.liu import LIU
from tamis.lab.claims.mishra_sahni import MISHRA_SAHNI
from tamis.lab.claims.row import Paper, Row
from tamis.lab.claims.wang import WANG

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (JEWEL, BITTNER, LIU, WANG, MISHRA_SAHNI)}
ROWS: dict[str, Row] = {
    id_: paper.rows[id_] for paper in PAPERS.values() for id_ in sorted(paper.rows, key=lambda each: int(each[1:]))
}


class UnknownClaimError(TamisError):
    """A paper or a claim that there is not."""


def select_rows(papers: Sequence[str] = (), ids: Sequence[str] = ()) -> list[Row]:
    """The rows of these papers and these ids; all without any.

    Raises:
        UnknownClaimError: There is no such paper or id.
    """
    for kind, given, known in (("paper", papers, PAPERS), ("claim", ids, ROWS)):
        unknown = [name for name in given if name not in known]
        if unknown:
            letters = {next(iter(paper.rows))[0]: len(paper.rows) for paper in PAPERS.values()}
            ends = [f"{letter}1 to {letter}{count}" for letter, count in letters.items()]
            shown = ", ".join(known if kind == "paper" else ends)
            msg = f"there is no {kind} {', '.join(unknown)}; known are {shown}"
            raise UnknownClaimError(msg)
    wanted = {id_ for name in papers for id_ in PAPERS[name].rows} | set(ids)
    return [row for id_, row in ROWS.items() if not (papers or ids) or id_ in wanted]

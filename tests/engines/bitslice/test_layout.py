"""Names of stored arrays never change, whatever the fields of `IndexArrays` are called."""

from __future__ import annotations

from tamis.engines.bitslice.layout import PARTS, IndexArrays, stored_name

STORED = """
cells.bases cells.counts cells.cut_firsts cells.cuts cells.widths cells.axis_of cells.floors spans.lows
spans.highs spans.axes spans.inner_lows spans.inner_highs bodies.slots bodies.firsts bodies.spans
bodies.word_firsts bodies.words bodies.residuals bodies.unless groups.runs groups.run_entries groups.run_lows
groups.run_highs groups.run_axes groups.cell_firsts groups.cell_groups groups.point_firsts groups.points
groups.first_point groups.test_groups groups.null_axes groups.span_firsts groups.spans outline.lines
outline.firsts outline.axes outline.line_firsts outline.costs outline.bits couples.first_group couples.partners
couples.ranks couples.heads couples.lanes couples.further program.kinds program.nulls program.axes program.lows
program.highs program.piece_lows program.piece_highs program.records program.sizes
mask_programs.heads mask_programs.slots mask_programs.roots mask_programs.bases mask_programs.cut_firsts
mask_programs.cuts mask_programs.range_lows mask_programs.range_highs mask_programs.range_axes
mask_programs.runs mask_programs.children
"""
"""As segments have had them since layout 4."""


def test_arrays_are_stored_under_the_names_of_old_segments() -> None:
    names = [
        stored_name(part, field)
        for part, kind in zip(IndexArrays._fields, PARTS, strict=True)
        for field in kind._fields
    ]
    assert names == STORED.split()

"""The model of bytes contradicts a sentence of the thesis."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner_advertisements import BITTNER


def test_the_model_contradicts_the_sentence_on_bytes_of_overlap() -> None:
    outcome = BITTNER.rows["B49"].measure(Bench("smallest"))
    assert outcome.direction == "fails"
    assert outcome.note == "conjunctions need more in A5 only"

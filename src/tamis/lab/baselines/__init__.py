"""Engines that the papers compare with, each over the same predicates and conjunctions as the papers' own.

`counting` (Yan and Garcia-Molina) and `cluster` (Fabret et al., Hanson et al.) are the conjunctive filters of
Bittner's thesis; `gryphon` (Aguilera et al.) is Jewel's baseline; `betree` (Sadoghi and Jacobsen) and `siena`
(Carzaniga and Wolf) are those of Mishra and Sahni; `postings` is counting over static lists that are merged by
cells of values.
"""

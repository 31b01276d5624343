"""For engines that index conjunctions only: formulas in disjunctive normal form, and their verification."""

"""What engines share that know conjunctions only: formulas as such, and how to settle those that are none."""

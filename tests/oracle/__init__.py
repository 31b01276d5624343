"""Spark as the oracle: random conditions over typed rows, written once for tamis and once for Spark.

Nothing here knows how tamis works inside. `grammar` and the `rules_*` files say what can be written and how
Spark writes it without raising, `generate` draws from them, `mistakes` makes them wrong, `rows` makes the
tables, `spark_side` and `tamis_side` evaluate, `campaign` compares, shrinks and reports, `coverage` counts.
"""

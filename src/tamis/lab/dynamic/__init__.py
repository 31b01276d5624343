"""What the engines share whose indexes change in place, one subscription at a time.

Python sees whole batches; everything per predicate or per event is compiled (`kernels`):

    formulas --> MutableIndex ----> TermIndex ----------> TermStore of an engine
                 buffers inserts    formulas as terms     (counting, cluster, gryphon, boxes ...)
                                        |
                                    PredicateIndex        leaves and events to predicate numbers
                                     |          |
                          OrderLabels          PatternGroups
                          (strings, decimals:   (LIKE, RLIKE and other tests
                           order maintenance)    that are no intervals)

- `mutable_index`: lock and insert buffer; `term_index`: subscriptions in disjunctive normal form, with
  `fallback` for formulas that have no exact one;
- `predicate_index`: predicate numbers with use counts, over `kernels.predicates`, `kernels.interval_index`;
- `order_labels`: integer labels for values that have an order but no arithmetic;
- `pattern_groups`: static pattern indexes, merged by size as in a log-structured merge tree;
- `kernels.posting_lists`, `kernels.hit_counters`, `kernels.terms`: what matching reads.

All state is arrays in a few records whose arrays compiled code replaces by longer ones. No insertion or deletion
rebuilds a structure as a whole.
"""

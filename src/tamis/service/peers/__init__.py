"""Federation: services of several sites, linked into a network without cycles.

A site sends each neighbour routing entries, generalised conditions of what lives behind it (`entries`). The
neighbour keeps them as subscriptions of the link, so that its stream matches them in the same pass as its own
(`links`). An event that satisfies one goes into the outbox of the link with the commit of its batch (`outbox`),
and from there to the neighbour (`sender`), which takes it once (`site`) and matches it exactly.
"""

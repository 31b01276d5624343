"""The service: subscribe, publish, be notified, over HTTP; and a page to see it all.

`tamis serve` runs it. Subscriptions are in a store, published events in an inbox, matches in a feed; a stream of
Spark's between inbox and feed is a process of its own, and nothing here matches anything by itself.
"""

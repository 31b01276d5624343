"""SQLite and PostgreSQL: connections and transactions, bulk inserts, and batches that are committed once.

Every database of tamis goes through this package: the store, the sinks `sql` and `webhook`, and the service. It
knows no table of theirs. Databases of others, in which operators look things up, are read through it as well.
SQLAlchemy is needed as soon as one of its modules is imported, not before.
"""

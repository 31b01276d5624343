"""A run as one HTML page: charts, the busiest subscriptions, an explained match; self-contained, no script."""

from tamis.report.page import Figure, page

__all__ = ["Figure", "page"]

"""A run as one HTML page: charts, the busiest subscriptions, an explained match; nothing to fetch, no script."""

from tamis.report.page import page

__all__ = ["page"]

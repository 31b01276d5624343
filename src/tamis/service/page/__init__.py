"""The web pages of the service, rendered on the server, with a few small scripts.

Pages load nothing from other hosts. Each is rendered from one mapping, which its `.json` twin returns unchanged,
and shows only what its tenant may see.
"""

from tamis.service.page.routes import install

__all__ = ["install"]

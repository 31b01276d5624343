"""The page: what a tenant has and what happens to it, rendered here, with small scripts of our own.

Nothing is loaded from elsewhere. Every page is made of one mapping, which its `.json` twin answers as it is; a
page shows what its tenant may see and nothing else.
"""

from tamis.service.page.serving import install

__all__ = ["install"]

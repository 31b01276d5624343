"""D. Jewel, thesis: a filtering engine over one graph of shared expressions, the A-Tree (`dag`)."""

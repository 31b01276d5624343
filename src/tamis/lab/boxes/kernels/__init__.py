"""The compiled part of `boxes`: the boxes of terms, and the values of rows."""

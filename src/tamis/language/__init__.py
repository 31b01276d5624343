"""The condition language: text to syntax tree, to typed expression, to formula."""

"""Text to syntax tree and back: tokens, parser, literals, printing, and the regular expressions of RLIKE."""

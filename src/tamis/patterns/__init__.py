"""Many patterns over many texts at once: literals, automata, and an index that finds the patterns of a text."""

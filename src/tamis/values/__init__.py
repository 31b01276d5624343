"""Values: their types, order, casts and columns."""

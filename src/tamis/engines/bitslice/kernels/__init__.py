"""The compiled loops of `bitslice`: arrays in, arrays out."""

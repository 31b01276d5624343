"""The compiled part of `hits`: encoded subscription trees, and the tables that find candidates."""

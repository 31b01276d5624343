"""Seeded benchmarks: `python -m benchmarks NAME [--quick]`."""

"""Benchmarks: `make bench`, or `python -m tests.bench [NAME …]`. Each prints a table with a ratio to its reference."""

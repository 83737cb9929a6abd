"""The label book: a data home as one static folder of pages that link to each other.

A page a task, a view and a map, an index; no server, no build step, nothing fetched. Every number is the cell of an
answer whose SQL stands on the same page (`data-sql` names it), so that a reader and a test can ask again.
"""

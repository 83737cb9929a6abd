"""Readers' verdicts on labels: given one by one or as a table, kept for good, never changing a label.

A verdict says whether a reader agrees with what a task says of a class for an instance. It is one more row of
evidence beside the label, in SQL ``raw_review.verdict`` (as given) and ``review.verdict`` (which one counts).
"""

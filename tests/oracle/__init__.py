"""The label rule of vitaldb-arrhythmia-abnormal@0 once more, in plain Python and without SQL.

Written from the task's specification and the base reading of its open points, not from the views: what both
say is what the rule says. It needs nothing but the standard library, and is what `make bench` runs beside the
SQL on the same files.
"""

from .files import read_case, read_folder
from .rule import Ecg, Row, Segment, label_case

__all__ = ["Ecg", "Row", "Segment", "label_case", "read_case", "read_folder"]

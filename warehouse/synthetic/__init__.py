"""Raw releases for the demo and the benchmarks: real formats, real quirks, synthetic hearts."""

from warehouse.synthetic.lydus import release_findings, write_lydus_release
from warehouse.synthetic.mitbih import write_mitbih_release
from warehouse.synthetic.ptbdb import write_ptbdb_release
from warehouse.synthetic.vitaldb import write_vitaldb_release

__all__ = [
    "release_findings",
    "write_lydus_release",
    "write_mitbih_release",
    "write_ptbdb_release",
    "write_vitaldb_release",
]

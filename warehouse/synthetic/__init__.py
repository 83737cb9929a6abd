"""Raw releases for the demo and the benchmarks: real formats, real quirks, synthetic hearts."""

from warehouse.synthetic.lydus import release_findings, write_lydus_release
from warehouse.synthetic.vitaldb import write_vitaldb_release

__all__ = ["release_findings", "write_lydus_release", "write_vitaldb_release"]

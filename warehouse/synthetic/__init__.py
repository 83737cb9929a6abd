"""Raw releases for the demo and the benchmarks: real formats, real quirks, synthetic hearts."""

from warehouse.synthetic.vitaldb import write_vitaldb_release

__all__ = ["write_vitaldb_release"]

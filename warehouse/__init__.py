"""Raw ECG releases in, labels as Parquet out.

Files to Parquet (`load`), label rules as SQL views (`sql/`), built by `materialize`, read by
:func:`warehouse.task.read_task`. This room knows DuckDB, Arrow, WFDB and .vital files; never torch, never Pillow.
"""

import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
"""NumPy's OpenBLAS keeps a thread a core that spins before it sleeps, from NumPy's import on: a third of the CPU time
that the imports of a short command took. 2^14 cycles are enough between two calls; an own setting is kept."""

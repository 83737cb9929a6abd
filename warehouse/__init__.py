"""Raw ECG releases in, labels as Parquet out.

Files to Parquet (`load`), label rules as SQL views (`sql/`), built by `materialize`, read by
:func:`warehouse.task.read_task`. This room knows DuckDB, Arrow, WFDB and .vital files; never torch, never Pillow.
"""

"""The columns of what ``load`` and ``render`` write, by their names in SQL, before anything is loaded.

From the loaders' own schemas, so that a view can stand on empty tables: given/expect cases, and checks of types.
"""

from __future__ import annotations

from functools import cache

import duckdb

from warehouse.images import COLUMNS as IMAGE_COLUMNS
from warehouse.images import SCHEMA as IMAGE_SCHEMA
from warehouse.spec import specs


@cache
def raw_columns() -> dict[str, list[tuple[str, str]]]:
    """Table → its columns with DuckDB's types; dictionaries are text. No table of signals: no view opens one."""
    import pyarrow as pa

    from warehouse.load.annotation_csv import COLUMNS
    from warehouse.load.metadata_csv import CLINICAL, METADATA
    from warehouse.load.vital_tables import SCHEMAS
    from warehouse.review.store import VERDICT

    stamped = [pa.field("source_file", pa.string()), pa.field("row_no", pa.int32())]
    schemas = {
        "raw_vitaldb.annotation": pa.schema([("case_id", pa.int32()), *COLUMNS.items(), *stamped]),
        "raw_vitaldb.metadata": METADATA,
        "raw_vitaldb.clinical": CLINICAL,
        "split.vitaldb": pa.schema([("subject_id", pa.int32()), ("part", pa.string())]),
        **{f"raw_vitaldb.{name}": schema for name, schema in SCHEMAS.items() if name != "signal"},
        **_lydus(stamped),
        **_ptbxl(stamped),
        **_heartbeats(),
        "raw_review.verdict": VERDICT,
    }
    con = duckdb.connect()
    found = {}
    for name, schema in schemas.items():
        con.register("without_rows", schema.empty_table())
        found[name] = [(column, kind) for column, kind, *_ in con.execute("DESCRIBE without_rows").fetchall()]
    return {**found, **_images()}


def _images() -> dict[str, list[tuple[str, str]]]:
    """What `render` writes, for every task that has images."""
    return {
        f"{IMAGE_SCHEMA}.{spec.view.removeprefix('task.')}": list(IMAGE_COLUMNS.items())
        for spec in specs()
        if "render" in spec.data.get("input", {})
    }


def _lydus(stamped: list) -> dict:
    """As `load lydus` writes them."""
    import pyarrow as pa

    from warehouse.load.lydus_records import MEASUREMENTS, TEXTS
    from warehouse.load.signal_counts import FACT

    texts = ("record_id", "patient_id", *TEXTS)
    return {
        "raw_lydus.record": pa.schema(
            [
                *((name, pa.string()) for name in texts),
                *((name, pa.int32()) for name in MEASUREMENTS),
                *stamped,
            ]
        ),
        "raw_lydus.dx_line": pa.schema(
            [("record_id", pa.string()), ("line_no", pa.int32()), ("text_id", pa.int32()), *stamped]
        ),
        "raw_lydus.dx_text": pa.schema(
            [("text_id", pa.int32()), ("text", pa.string()), ("lines", pa.int64())]
        ),
        "raw_lydus.signal_fact": FACT,
        "split.lydus": pa.schema(
            [
                *((name, pa.string()) for name in ("record_id", "group_id", "part")),
                ("sampled", pa.bool_()),
            ]
        ),
    }


def _ptbxl(stamped: list) -> dict:
    """As `load ptbxl` writes them."""
    import pyarrow as pa

    from warehouse.load.ptbxl_tables import STATEMENT_12SL

    texts = ("scp_codes", "age", "sex", "report", "filename_lr", "filename_hr")
    return {
        "raw_ptbxl.record": pa.schema(
            [
                ("ecg_id", pa.int32()),
                ("patient_id", pa.string()),
                ("strat_fold", pa.int32()),
                *((name, pa.string()) for name in texts),
                *stamped,
            ]
        ),
        "raw_ptbxl.recording": pa.schema(
            [("ecg_id", pa.int32()), ("device", pa.string()), ("site", pa.string())]
        ),
        "raw_ptbxl.scp_code": pa.schema(
            [("ecg_id", pa.int32()), ("code", pa.string()), ("likelihood", pa.float64())]
        ),
        "raw_ptbxl.scp_statement": pa.schema(
            [
                ("code", pa.string()),
                ("description", pa.string()),
                *((name, pa.bool_()) for name in ("diagnostic", "form", "rhythm")),
                ("diagnostic_class", pa.string()),
                ("diagnostic_subclass", pa.string()),
            ]
        ),
        "raw_ptbxl.statement_12sl": STATEMENT_12SL,
    }


def _heartbeats() -> dict:
    """As the loader of WFDB records writes them; what it stores once for many rows is text in SQL."""
    import pyarrow as pa

    from warehouse.load.mitbih_split import SPLIT
    from warehouse.load.wfdb_tables import SCHEMAS as TABLES

    def plain(schema: pa.Schema) -> pa.Schema:
        return pa.schema(
            [(each.name, pa.string() if pa.types.is_dictionary(each.type) else each.type) for each in schema]
        )

    names = ("mitbih", "ptbdb")
    found = {f"raw_{name}.{table}": plain(schema) for name in names for table, schema in TABLES.items()}
    return {**found, "split.mitbih": plain(SPLIT)}

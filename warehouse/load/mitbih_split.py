"""``split.mitbih``: beats drawn at random, class by class, as ``registry/splits/mitbih.json`` declares it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import RegistryError
from warehouse.load.columns import from_numbers, from_texts
from warehouse.maps import map_rows
from warehouse.splits import declaration, membership_digest

SPLIT = pa.schema(
    [("record_id", pa.string()), ("row_no", pa.int32()), ("part", pa.string()), ("draw_no", pa.int32())]
)


def draw_beats(annotation: pa.Table, release: str | None) -> pa.Table:
    """A part for every beat that another annotation follows; ``annotation`` as loaded, in order.

    ``release`` is the name of a known release: on the published one the test part has the published class counts,
    and the membership is held against its locked digest (RegistryError when it differs).
    """
    declared = declaration("mitbih")
    published = declared["published"] if release == declared["published"]["release"] else None
    rows = {row["symbol"]: row for row in map_rows("mitbih_symbol") if row["class"]}
    classes = list(dict.fromkeys(row["class"] for row in rows.values()))
    place = {symbol: classes.index(row["class"]) for symbol, row in rows.items()}
    symbols = pc.dictionary_encode(annotation["symbol"]).combine_chunks()
    of_code = np.array([place.get(text, -1) for text in symbols.dictionary.to_pylist()], np.int64)
    records = pc.cast(annotation["record_id"], pa.string()).to_numpy()
    class_no = of_code[symbols.indices.to_numpy(zero_copy_only=False)] if len(of_code) else np.empty(0, int)
    followed = np.append(records[1:] == records[:-1], False)[: len(records)]
    part = np.full(len(records), None, object)
    draw_no = np.zeros(len(records), np.int32)
    for number, name in enumerate(classes):
        mine = np.flatnonzero((class_no == number) & followed)
        shuffled = mine[np.random.default_rng([declared["seed"], number]).permutation(len(mine))]
        n_test = published["test"][name] if published else round(declared["fractions"]["test"] * len(mine))
        n_validation = int(declared["fractions"]["validation"] * len(mine))
        part[shuffled] = "train"
        part[shuffled[:n_test]] = "test"
        part[shuffled[n_test : n_test + n_validation]] = "validation"
        draw_no[shuffled] = np.arange(len(mine), dtype=np.int32)
    drawn = np.flatnonzero(part != None)  # noqa: E711 (elementwise)
    row_no = annotation["row_no"].to_numpy()[drawn]
    if published:
        units = np.array([f"{record}_{row}" for record, row in zip(records[drawn], row_no, strict=True)])
        found = membership_digest(units, part[drawn])
        if found != published["sha256"]:
            raise RegistryError(
                f"split mitbih: the draw gives membership {found}, expected the locked {published['sha256']}",
                "the declaration was edited, or this numpy draws other numbers: restore one of them",
            )
    columns = [
        from_texts(records[drawn].tolist()),
        from_numbers(row_no.astype(np.int32)),
        from_texts(part[drawn].tolist()),
        from_numbers(draw_no[drawn]),
    ]
    return pa.table(columns, schema=SPLIT)

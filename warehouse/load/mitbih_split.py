"""``split.mitbih``: beats drawn at random, class by class, as ``registry/splits/mitbih.json`` declares it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import RegistryError
from warehouse.load.columns import from_numbers, from_texts, plain, to_numbers
from warehouse.maps import map_rows
from warehouse.splits import declaration, membership_digest

PARTS = ("train", "validation", "test")
WORD = pa.dictionary(pa.int32(), pa.string())
SPLIT = pa.schema([("record_id", WORD), ("row_no", pa.int32()), ("part", WORD), ("draw_no", pa.int32())])


def draw_beats(annotation: pa.Table, release: str | None, declared: dict | None = None) -> pa.Table:
    """A part for every beat that another annotation follows; ``annotation`` as loaded, in order. ``declared`` stands
    in the place of the registry's declaration.

    ``release`` is the name of a known release: on the published one the test part has the published class counts,
    and the membership is held against its locked digest (RegistryError when it differs).
    """
    declared = declared or declaration("mitbih")
    published = declared["published"] if release == declared["published"]["release"] else None
    rows = {row["symbol"]: row for row in map_rows("mitbih_symbol") if row["class"]}
    classes = list(dict.fromkeys(row["class"] for row in rows.values()))
    place = {symbol: classes.index(row["class"]) for symbol, row in rows.items()}
    if not annotation.num_rows:
        return SPLIT.empty_table()
    symbols = pc.dictionary_encode(annotation["symbol"]).combine_chunks()
    of_code = np.array([place.get(text, -1) for text in symbols.dictionary.to_pylist()], np.int64)
    class_no = of_code[to_numbers(symbols.indices)]
    record = plain(annotation["record_id"])
    record_no = to_numbers(record.indices)
    followed = np.append(record_no[1:] == record_no[:-1], False)
    part_no = np.full(len(record_no), -1, np.int32)
    draw_no = np.zeros(len(record_no), np.int32)
    for number, name in enumerate(classes):
        mine = np.flatnonzero((class_no == number) & followed)
        shuffled = mine[np.random.default_rng([declared["seed"], number]).permutation(len(mine))]
        n_test = published["test"][name] if published else round(declared["fractions"]["test"] * len(mine))
        n_validation = int(declared["fractions"]["validation"] * len(mine))
        part_no[shuffled] = PARTS.index("train")
        part_no[shuffled[:n_test]] = PARTS.index("test")
        part_no[shuffled[n_test : n_test + n_validation]] = PARTS.index("validation")
        draw_no[shuffled] = np.arange(len(mine), dtype=np.int32)
    drawn = np.flatnonzero(part_no >= 0)
    row_no = to_numbers(annotation["row_no"])[drawn]
    names = record.dictionary.to_pylist()
    if published:
        records = [names[number] for number in record_no[drawn].tolist()]
        units = [f"{name}_{row}" for name, row in zip(records, row_no.tolist(), strict=True)]
        found = membership_digest(np.array(units), np.array(PARTS)[part_no[drawn]])
        if found != published["sha256"]:
            raise RegistryError(
                f"split mitbih: the draw gives membership {found}, expected the locked {published['sha256']}",
                "the declaration was edited, or this numpy draws other numbers: restore one of them",
            )
    columns = [
        pa.DictionaryArray.from_arrays(from_numbers(record_no[drawn]), from_texts(names)),
        from_numbers(row_no.astype(np.int32)),
        pa.DictionaryArray.from_arrays(from_numbers(part_no[drawn]), from_texts(PARTS)),
        from_numbers(draw_no[drawn]),
    ]
    return pa.table(columns, schema=SPLIT)

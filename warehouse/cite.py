"""``cite``: licence, citation and the exact versions of everything behind a task."""

from __future__ import annotations

from warehouse.fingerprints import lineage_digests
from warehouse.home import Home
from warehouse.load.cards import card_of
from warehouse.load.report import read_report
from warehouse.spec import find_spec
from warehouse.splits import split_digest, split_origin
from warehouse.views import Catalog


def cite(home: Home, task: str, catalog: Catalog | None = None) -> dict:
    """Everything to cite for TASK; ``loaded`` is None when its data set is not in this home.

    ``catalog``: the views, for who has read them already.
    """
    spec = find_spec(task)
    dataset = spec.data["dataset"]
    card = card_of(dataset)
    catalog = catalog or Catalog.read()
    lineage = lineage_digests(catalog, catalog.resolve(spec.view))
    report = read_report(home, dataset)
    split = spec.data["split"].get("name")
    return {
        "task": spec.name,
        "title": spec.data.get("title"),
        "spec": {
            "digest": spec.digest,
            "follows": spec.published_digest,
            "protocol": spec.data["protocol"]["source"],
        },
        "dataset": {
            key: card.get(key) for key in ("title", "licence", "citation", "also_cite", "source_url")
        },
        "loaded": None
        if report is None
        else {"release": report["release"], "versions": report["versions"], "notes": report["notes"]},
        "split": None
        if split is None
        else {"name": split, "origin": split_origin(home, spec), "sha256": split_digest(split)},
        "rules": lineage,
    }


def as_text(citation: dict) -> str:
    """The same for a reader."""
    data, loaded, split = citation["dataset"], citation["loaded"], citation["split"]
    follows = citation["spec"]["follows"]
    lines = [
        f"{citation['task']}: {citation['title']}",
        f"  spec      {citation['spec']['digest']}{f', follows the published {follows}' if follows else ''}",
        f"  protocol  {citation['spec']['protocol']}",
        f"  data      {data['title']}, {data['licence']}, {data['source_url']}",
        f"  cite      {data['citation']}",
        *(f"            {text}" for text in data["also_cite"]),
    ]
    if loaded is None:
        lines.append("  loaded    nothing in this data home")
    else:
        release = loaded["release"]
        digest = release.get("sha256")
        name = release["name"] or f"unknown release{f' (digest {digest[:12]})' if digest else ''}"
        whether = (
            "the spec's release" if release["is_specified"] else f"not the spec's {release['specified']}"
        )
        lines.append(f"  loaded    {name}; {whether}")
    if split is not None:
        lines.append(f"  split     {split['name']} {split['sha256'][:12]}: {split['origin']}")
    lines += [f"  view      {name} {digest[:12]}" for name, digest in citation["rules"]["views"].items()]
    lines += [f"  map       {name} {digest[:12]}" for name, digest in citation["rules"]["maps"].items()]
    return "\n".join(lines)

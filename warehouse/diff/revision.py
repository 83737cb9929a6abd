"""The files of ``sql/`` and ``registry/`` as a git revision has them, without touching the working tree."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.project import sql_root
from warehouse.spec import Spec, read_spec
from warehouse.views import Catalog, View

FOLDERS = ("sql", "registry")


@dataclass(frozen=True)
class Tree:
    """A copy of ``sql/`` and ``registry/``. ``label`` says of what, in messages: a revision, or nothing for today's."""

    root: Path
    label: str = ""

    @cached_property
    def catalog(self) -> Catalog:
        """Every view, all of them parsed. Raises RegistryError, with the file, for one that breaks the rules."""
        try:
            catalog = Catalog.read(self.root / "sql")
            if self.label:
                catalog = Catalog([self._labelled(view) for view in catalog.named.values()])
            list(catalog)
        except RegistryError as error:
            if not self.label:
                raise
            text = str(error).replace(f"{self.root}/", "")
            raise RegistryError(
                f"at {self.label}: {text}", "compare with a revision whose views can be read"
            ) from error
        return catalog

    def _labelled(self, view: View) -> View:
        return replace(view, path=Path(f"{self.label}:{view.path.relative_to(self.root)}"))

    @cached_property
    def maps(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted((self.root / "registry" / "maps").glob("*.csv"))}

    @cached_property
    def splits(self) -> dict[str, dict]:
        return {path.stem: _json(path) for path in sorted((self.root / "registry" / "splits").glob("*.json"))}

    @cached_property
    def tasks(self) -> dict[str, Spec]:
        specs = [read_spec(path) for path in sorted((self.root / "registry" / "tasks").glob("*@*.json"))]
        return {spec.name: spec for spec in sorted(specs, key=lambda spec: (spec.slug, spec.version))}


def working_tree() -> Tree:
    return Tree(sql_root().parent)


@contextmanager
def at_revision(revision: str) -> Iterator[Tree]:
    """The tree of a revision, in a folder that vanishes again.

    Raises HomeError outside a git repository or without git, UsageError for a revision that git does not know or that
    has no views.
    """
    root = sql_root().parent
    top = Path(_git(root, "rev-parse", "--show-toplevel", asked="a git repository").decode().rstrip("\n"))
    commit = _commit(root, revision)
    prefix = Path(os.path.relpath(root.resolve(), top.resolve())).as_posix()
    tree = commit if prefix == "." else f"{commit}:{prefix}"
    there = [
        name
        for name in FOLDERS
        if _run(
            root, "cat-file", "-e", f"{commit}:{name if prefix == '.' else f'{prefix}/{name}'}"
        ).returncode
        == 0
    ]
    if "sql" not in there:
        raise UsageError(
            f"{revision}: found no folder sql in it; expected a revision of this project",
            "name a later revision",
        )
    with TemporaryDirectory(prefix="leadhouse-diff-") as name:
        packed = _git(top, "archive", "--format=tar", tree, *there, asked=f"the files of {revision}")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(name, filter="data")
        yield Tree(Path(name), revision)


def _commit(root: Path, revision: str) -> str:
    done = _run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        known = _run(root, "for-each-ref", "--format=%(refname:short)", "--count=8", "--sort=-committerdate")
        names = ", ".join(known.stdout.decode().split())
        raise UsageError(
            f"git knows no revision {revision!r}; expected a commit, a tag or a branch"
            + (f", for instance {names}" if names else ""),
            "fetch it first; in a shallow clone: git fetch --unshallow (actions/checkout: fetch-depth: 0)",
        )
    return done.stdout.decode().strip()


def _git(folder: Path, *words: str, asked: str) -> bytes:
    done = _run(folder, *words)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise HomeError(
            f"{folder}: found no {asked.removeprefix('a ')} ({said[0]}); expected {asked}",
            "run it in a git checkout of the project",
        )
    return done.stdout


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise HomeError("found no git; expected it on the PATH", "install git") from error


def _json(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RegistryError(f"{path}: found {error}; expected JSON") from error

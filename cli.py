"""The command line: one verb a command. Each parses, calls one function and prints."""

from __future__ import annotations

import errno
import json as json_module
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TextIO

import click

from pipelines.render.options import image_options, settings_from
from pipelines.train.options import place_options, settings_options
from warehouse.contracts import stamped
from warehouse.errors import CheckFailed, HomeError, InputError, LeadhouseError, UsageError
from warehouse.home import Home

LOST = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
"""How a write to standard output fails; a closed pipe (`| head`) is click's own business."""


class Street(click.Group):
    """Lists the verbs in the order of the street and turns our errors into a message and an exit code."""

    def main(self, *args: object, **kwargs: object) -> object:
        """Closed standard streams become /dev/null; output that cannot be written is an error in words."""
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in LOST or error.filename is not None:
                raise
            _drop(sys.stdout)
            _tell(f"the output cannot be written ({error.strerror})")
            sys.exit(2)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except LeadhouseError as error:
            _tell(str(error))
            ctx.exit(error.exit_code)
        except RuntimeError as error:
            if str(error) != "Query interrupted":
                raise
            raise KeyboardInterrupt from error  # Ctrl-C while DuckDB works


def _tell(message: str) -> None:
    try:
        click.echo(f"leadhouse: {message}", err=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """What a stream's buffer still holds must not fail again at the exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def verb(name: str, *, json: bool = False, of: click.Group | None = None) -> Callable:
    """A command, of a group or of the street, that has ``--data`` and, when it reads, ``--json``."""

    def decorate(function: Callable) -> click.Command:
        function = _naming_damage(function)
        if json:
            function = click.option("--json", "json", is_flag=True, help="JSON alone on stdout.")(function)
        function = click.option(
            "--data",
            "home",
            metavar="DIR",
            callback=lambda ctx, param, value: Home.resolve(value),
            help="The data home; default $LEADHOUSE_DATA, else ./data.",
        )(function)
        return (of or main).command(name)(function)

    return decorate


def _naming_damage(function: Callable) -> Callable:
    """Where DuckDB fails and a file of the home is not what was written there, the error names that file."""

    @wraps(function)
    def run(*args: object, home: Home, **options: object) -> object:
        try:
            return function(*args, home=home, **options)
        except Exception as error:
            if "duckdb" not in sys.modules:
                raise
            from warehouse.damage import damage

            named = damage(home, error)
            if named is None:
                raise
            raise named from error

    return run


def print_json(value: object) -> None:
    click.echo(json_module.dumps(value, ensure_ascii=False, allow_nan=False))


def warn_stale(names: list[str] | tuple[str, ...]) -> None:
    if names:
        click.echo(f"note: {', '.join(names)} changed since this was built; run materialize", err=True)


@click.group(cls=Street, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="leadhouse", message="leadhouse %(version)s")
def main() -> None:
    """Leadhouse, the ECG label warehouse: raw files to Parquet, label rules in SQL, scores on top.

    TASK is slug@version; a bare slug means the newest. Exit codes: 0 fine; 1 a difference, a failed check or
    rejected input; 2 wrong usage or environment.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")


@verb("load", json=True)
@click.argument("dataset")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--subjects", type=click.Path(path_type=Path), help="CSV with caseid and subjectid.")
@click.option("--signals", type=click.Path(path_type=Path), help="Folder of <caseid>.vital files.")
@click.option(
    "--download",
    is_flag=True,
    help="Fetch first: the cases' .vital files, or a whole WFDB release into SOURCE; what is there is kept.",
)
@click.option(
    "--base-url", metavar="URL", help="Where --download fetches from; default: the data-set card's."
)
@click.option("--workers", type=click.IntRange(1), help="Processes that read signals; default 2.")
@click.option(
    "--split", type=click.Path(path_type=Path), help="lydus: the published split; else one is drawn."
)
@click.option(
    "--dx-separator", metavar="NAME", help="lydus: newline, literal-newline, pipe or none; else found."
)
@click.option(
    "--profile", metavar="NAME", help="lydus: 'release' also wants the published number of records."
)
@click.option("--hz", type=int, help="ptbxl: 100 or 500; default: what more records have.")
@click.option("--statements", type=click.Path(path_type=Path), help="ptbxl: PTB-XL+ 12sl_statements.csv.")
def load(dataset, source, home, json, **options) -> None:
    """Load a raw release from the folder SOURCE into Parquet.

    Everything is checked before anything is written: input that breaks the contract is rejected with file and
    row, and what was loaded before stays. DATASET is one of: vitaldb-arrhythmia, lydus, ptbxl, mitbih, ptbdb.
    """
    from warehouse.load import loaders

    report = loaders.load(home, dataset, source, progress=not json, **options)
    print_json(report.as_json()) if json else click.echo(report.as_text())
    if report.problems:
        raise CheckFailed(
            f"{len(report.problems)} cases were not loaded whole; the rest is loaded",
            report.next_step or "see the list above",
        )


@verb("materialize", json=True)
@click.argument("targets", metavar="[TASK or VIEW] …", nargs=-1)
@click.option(
    "--check", is_flag=True, help="Build beside the home, compare with the manifest, exit 1 on a difference."
)
def materialize(targets, check, home, json) -> None:
    """Build stored views as Parquet files with a manifest; only what changed is built again.

    Without a name: every view whose raw data is loaded.
    """
    from warehouse import materialize as stage
    from warehouse.task import view_names

    names = view_names(targets)
    if check:
        differences = stage.check(home, names)
        print_json(stamped("materialize-check", {"differences": differences})) if json else click.echo(
            "\n".join(differences) or "no difference from the manifest"
        )
        if differences:
            raise CheckFailed(
                f"{len(differences)} views differ from the manifest", "run materialize to build them"
            )
        return
    build = stage.materialize(home, names)
    print_json(stamped("materialize", build.as_json())) if json else click.echo(build.as_text())


@verb("counts", json=True)
@click.argument("task")
@click.option(
    "--by",
    metavar="COLUMN",
    help="Also by sex, age, device, rhythm, or another column of the task or its records.",
)
def counts(task, by, home, json) -> None:
    """Class counts of TASK per part."""
    from warehouse.counts import count

    result = count(home, task, by)
    warn_stale(result.stale)
    print_json(stamped("counts", result.as_json())) if json else click.echo(result.as_text())


@verb("sql", json=True)
@click.argument("select")
@click.option("--csv", "csv", is_flag=True, help="CSV instead of a table.")
def sql(select, csv, home, json) -> None:
    """Run one SELECT on every view, read-only: no file outside the data home, no write, no setting.

    Rows are written as they come, none is left out. Dates, times, intervals and blobs are the text that DuckDB
    makes of them, decimals keep all their digits; in JSON, NaN and infinity are null.
    """
    from warehouse import table
    from warehouse.query import older_behind
    from warehouse.stream import stream

    if json and csv:
        raise UsageError("found --json with --csv; expected one of them")
    pieces = table.json_pieces if json else table.csv_pieces if csv else table.text_pieces
    answer = stream(home, select)
    for piece in pieces(answer.columns, answer.batches):
        click.echo(piece, nl=False)
    warn_stale(older_behind(home, select))


@verb("views", json=True)
def views(home, json) -> None:
    """Every view: version, layer, status, whether it is built, fingerprint, parents."""
    from warehouse.listing import COLUMNS, list_views
    from warehouse.table import as_text

    rows = list_views(home)
    print_json([dict(zip(COLUMNS, row, strict=True)) for row in rows]) if json else click.echo(
        as_text(COLUMNS, rows)
    )


@verb("why", json=True)
@click.argument("task")
@click.argument("instance")
@click.argument("label", metavar="[CLASS]", required=False)
def why(task, instance, label, home, json) -> None:
    """The evidence behind the classes of INSTANCE, or behind CLASS alone, with the lines it stands in.

    INSTANCE is an instance_id, a record_id that has one instance, or RECORD:PLACE with a second (or sample) in it.
    For a class that it has not: the nearest candidate, and what speaks against it. + counts, x is refused, - excludes.
    """
    from warehouse.why import why as stage
    from warehouse.why_text import as_text

    found = stage(home, task, instance, label)
    warn_stale(found.stale)
    print_json(stamped("why", found.as_json())) if json else click.echo(
        as_text(found, whole=label is not None)
    )


@verb("audit", json=True)
@click.argument("task", required=False)
def audit(task, home, json) -> None:
    """Run the queries that must return no rows, all or those behind TASK; exit 1 when one returns rows."""
    from warehouse import audit as stage

    findings = stage.audit(home, task)
    print_json([finding.as_json() for finding in findings]) if json else click.echo(stage.as_text(findings))
    failed = [finding.name for finding in findings if finding.count and not finding.passed]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(findings)} audits return rows: {', '.join(failed)}")


@verb("diff", json=True)
@click.argument("names", metavar="[A B] | [TASK] …", nargs=-1)
@click.option("--since", metavar="REV", help="Compare with this git revision; TASK: flips of these alone.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json", "markdown", "junit"]),
    default="text",
    show_default=True,
    help="markdown: a comment for a pull request.",
)
@click.option("--parquet", type=click.Path(path_type=Path), metavar="FILE", help="Write all flips there too.")
@click.option(
    "--max-flips",
    metavar="N|N%",
    help="Exit 1 when more instances of a task differ: a number, or a share of the task's instances.",
)
@click.option(
    "--show", type=click.IntRange(0), default=10, show_default=True, help="Flips that a text spells out."
)
def diff(names, since, format, parquet, max_flips, show, home, json) -> None:
    """What changed between two versions, in words, and every instance that flips, with the evidence.

    A and B are two versions of a view (vitaldb.normal_context@0 @1), two maps (map.NAME or CSV files that are named
    for the map), or two tasks. With --since: every view, map, split and task spec of the working tree that differs
    from REV. A difference alone is no failure (exit 0); beyond --max-flips the exit code is 1.
    """
    from warehouse.diff import command
    from warehouse.diff.result import Budget

    budget = Budget.of(max_flips) if max_flips is not None else None
    found = command.find(home, names, since)
    command.write(found, parquet)
    click.echo(command.render(found, "json" if json else format, show, budget))
    command.hold(found, budget)


@verb("whatif", json=True)
@click.argument("task")
@click.option("--accept", metavar="REASON", multiple=True, help="Evidence refused for REASON alone counts.")
@click.option("--refuse", metavar="RULE", multiple=True, help="Candidates of RULE do not count.")
@click.option(
    "--map",
    "maps",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A CSV in the place of the map that it is named for.",
)
@click.option(
    "--set", "constants", metavar="NAME=VALUE", multiple=True, help="Another value of a constant of the rule."
)
@click.option(
    "--flips", metavar="FILE", type=click.Path(path_type=Path), help="Every flip, .parquet or .csv."
)
def whatif(task, accept, refuse, maps, constants, flips, home, json) -> None:
    """TASK's counts under another rule beside today's; nothing in the data home is written.

    Options can be given several times and together: one question of all of them. REASON may be a family of reasons,
    such as `hedged` of lydus-ecg-image. A name that is not there is answered with those that are.
    """
    from warehouse.whatif import what_if

    answer = what_if(home, task, accept=accept, refuse=refuse, maps=maps, constants=constants, flips=flips)
    print_json(stamped("whatif", answer.as_json())) if json else click.echo(answer.as_text())


@verb("render", json=True)
@click.argument("task")
@click.option("--part", help="Only this part; default: all.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N instances by id.")
@click.option("--workers", type=click.IntRange(1), help="Processes; default: one a core.")
@click.option("--format", "format", type=click.Choice(["jpeg", "png"]), help="Default jpeg.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder of its own; default: in the data home."
)
@image_options
def render(task, part, limit, workers, out, geometry, home, json, **options) -> None:
    """Draw the paper images of TASK's instances from the loaded signals.

    Images that are there and whole are kept; one that cannot be drawn is listed, and the rest goes on (exit 1).
    """
    from pipelines.render.stage import render_task
    from warehouse.spec import find_spec

    settings = settings_from(options, find_spec(task))
    report = render_task(
        home,
        task,
        settings,
        part=part,
        limit=limit,
        workers=workers,
        geometry=geometry,
        out=out,
        progress=True,
    )
    warn_stale(report.stale)
    print_json(report.as_json()) if json else click.echo(report.as_text())
    report.raise_for_failures()


@verb("render-record", json=True)
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), help="Of the draws; default: from the record's name."
)
@image_options
def render_record(record, out, seed, geometry, home, json, **options) -> None:
    """Draw one WFDB record (with or without .hea) to OUT, a .jpg or .png; a longer one gives a page per 10 s."""
    from pipelines.render import record as stage

    drawn = stage.render_record(record, out, settings_from(options), seed=seed, geometry=geometry)
    print_json(drawn) if json else click.echo("\n".join(image["file"] for image in drawn))


@verb("train", json=True)
@click.argument("task")
@settings_options
@click.option("--run", metavar="NAME", help="A name for the model; default: from its content.")
@place_options
def train(task, run, model, device, images, workers, threads, home, json, **options) -> None:
    """Train a model on TASK's labels and its images or signals; of images the defaults are the published setting.

    The same command goes on after the last epoch of a training that was stopped, with the same result. Needs the
    extra `train`.
    """
    from pipelines.train.record import render_training
    from pipelines.train.settings import Settings, model_for
    from pipelines.train.stage import train as stage
    from pipelines.train.watch import Watch
    from warehouse.spec import find_spec

    settings = Settings.of(model or model_for(find_spec(task).data)).with_known(**options)
    with Watch(shown=True) as watch:
        record = stage(
            home,
            task,
            settings,
            run=run,
            device=device,
            images=images,
            workers=workers,
            threads=threads,
            watch=watch,
        )
    print_json(record) if json else click.echo(render_training(home, record))


@verb("predict", json=True)
@click.argument("task")
@click.option("--run", metavar="NAME", required=True, help="The model's name, as `train` gave it.")
@click.option("--part", default="test", show_default=True, help="The part to predict.")
@click.option("--out", type=click.Path(path_type=Path), help="The predictions file (Parquet).")
@place_options
def predict(task, run, part, out, home, json, **options) -> None:
    """Write a trained model's predictions of a part, as `score` takes them."""
    from pipelines.train.predict import predict as stage
    from pipelines.train.watch import Watch

    with Watch(shown=True) as watch:
        made = stage(home, task, run, part=part, out=out, watch=watch, **options)
    for note in made["notes"]:
        click.echo(f"note: {note}", err=True)
    print_json(made) if json else click.echo(made["file"])


@verb("baseline", json=True)
@click.argument("task")
@click.argument("name")
@click.option("--part", default="test", show_default=True, help="The part to predict.")
@click.option("--out", type=click.Path(path_type=Path), help="The predictions file (Parquet).")
def baseline(task, name, part, out, home, json) -> None:
    """Write the predictions of a baseline: prior, rr-annotated or rr-detected."""
    from pipelines.baseline import write_baseline

    path = write_baseline(home, task, name, part=part, out=out)
    print_json({"task": task, "baseline": name, "part": part, "file": str(path)}) if json else click.echo(
        path
    )


@verb("score", json=True)
@click.argument("task")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--against", metavar="FILE", help="A second submission or run: the paired difference with its interval."
)
@click.option("--part", default="test", show_default=True, help="The part to score.")
@click.option(
    "--first",
    type=click.IntRange(1),
    metavar="N",
    help="Only the part's first N instances by id; not listed.",
)
@click.option("--name", help="A name for the run; default: from its content.")
def score(task, file, against, part, first, name, home, json) -> None:
    """Score the predictions in FILE (CSV, JSON lines or Parquet) and keep a run record.

    FILE has instance_id and a column per class; for a multilabel task also `labels` (names joined by commas) or
    `answer` (a language model's answers as they came).
    """
    from pipelines.score import render_score, score_submission

    result = score_submission(home, task, file, against=against, part=part, name=name, first=first)
    print_json(result) if json else click.echo(render_score(result))
    if result["not_kept"]:
        raise HomeError(f"the score above is not kept as a run: {result['not_kept']}")


@verb("score-folders", json=True)
@click.argument("reference", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
def score_folders(reference, output, home, json) -> None:
    """The Challenge 2024 macro F of the WFDB headers below OUTPUT, as its own tool reads and scores them."""
    from pipelines.folders import score_folders as stage

    found = stage(reference, output)
    for warning in found.warnings:
        click.echo(f"note: {warning}", err=True)
    print_json(found.as_json()) if json else click.echo(found.as_text())


@verb("prompt", json=True)
@click.argument("task")
def prompt(task, home, json) -> None:
    """What a language model is asked for the images of TASK, with its id and decoding settings."""
    from pipelines import prompts
    from warehouse.spec import find_spec

    asked = prompts.prompt(find_spec(task))
    print_json({**asked.as_json(), "text": asked.text}) if json else click.echo(asked.text)


@verb("leaderboard", json=True)
@click.argument("task")
@click.option("--part", default="test", show_default=True, help="The part that was scored.")
def leaderboard(task, part, home, json) -> None:
    """The runs of TASK, best first; those scored on other labels than today's are marked."""
    from pipelines.leaderboard import leaderboard as stage
    from pipelines.leaderboard import render_leaderboard

    rows = stage(home, task, part)
    print_json(rows) if json else click.echo(render_leaderboard(rows))


@verb("verify", json=True)
@click.argument("what", metavar="TASK|RUN|BUNDLE")
def verify(what, home, json) -> None:
    """Count every number again that the spec of TASK states, score RUN again and check its links to the labels, or
    check the file BUNDLE: each member, fingerprints, locks, counts; with --data also every row, from its own views.

    Exit 1 at a difference or a broken link; a difference on another release than the stated one is only shown.
    """
    from pipelines.bundle.archive import is_bundle
    from warehouse.task import is_task

    if is_task(what):
        from warehouse.recount import recount

        counted = recount(home, what)
        print_json(counted.as_json()) if json else click.echo(counted.as_text())
        if counted.holds and counted.different:
            raise CheckFailed(
                f"{what}: {len(counted.different)} of {len(counted.numbers)} stated numbers differ"
            )
        return
    if is_bundle(what):
        from pipelines.bundle.check import render_bundle as as_text
        from pipelines.bundle.check import verify_bundle

        source = click.get_current_context().get_parameter_source("home")
        result = verify_bundle(Path(what), home if source is click.core.ParameterSource.COMMANDLINE else None)
    else:
        from pipelines.verify import render_verification as as_text
        from pipelines.verify import verify_run

        result = verify_run(home, what)
    print_json(result) if json else click.echo(as_text(result))
    if not result["ok"]:
        raise CheckFailed(f"{what}: the first broken link is {result['broken']}")


@verb("release", json=True)
@click.argument("view")
@click.option("--dry-run", is_flag=True, help="Run everything, show the lock and the entry, write nothing.")
@click.option(
    "--without-flips", is_flag=True, help="Let the entry say so where a task's flips cannot be computed here."
)
def release(view, dry_run, without_flips, home, json) -> None:
    """Lock the draft VIEW (schema.name@N) and write into CHANGELOG what it does to labels.

    Its lint, given/expect cases, grain and audits are run first, on the data home; a view that lacks them or fails
    them stays a draft (exit 1). Header, registry/released.json and CHANGELOG change together or not at all.
    """
    from warehouse.release import release as stage

    done = stage(home, view, without_flips=without_flips, dry_run=dry_run)
    print_json(done.as_json()) if json else click.echo(done.as_text())


@main.group("review")
@click.option("--data", "data", metavar="DIR", help="The data home; default $LEADHOUSE_DATA, else ./data.")
@click.pass_context
def review(ctx, data) -> None:
    """Readers' verdicts on labels: kept beside the labels for good, counted in `counts`, never changing a label."""
    if data:
        ctx.default_map = {name: {"home": data} for name in review.commands}


@verb("add", json=True, of=review)
@click.argument("task")
@click.argument("instance")
@click.argument("class_", metavar="CLASS")
@click.option("--agree", is_flag=True, help="The label is right.")
@click.option("--disagree", is_flag=True, help="It is not.")
@click.option("--reader", required=True, metavar="NAME", help="Who says so.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--date", "day", default="", metavar="DATE", help="ISO date, or date and time; default: now.")
def review_add(task, instance, class_, agree, disagree, reader, reason, day, home, json) -> None:
    """Store one verdict on what TASK says of CLASS for INSTANCE."""
    from warehouse.review.verdicts import add

    if agree == disagree:
        found = "both --agree and --disagree" if agree else "neither --agree nor --disagree"
        raise UsageError(f"found {found}; expected one of them")
    added = add(home, task, instance, class_, agree, reader, reason, day)
    print_json(added.as_json()) if json else click.echo(added.as_text())


@verb("import", json=True, of=review)
@click.argument("file", metavar="CSV", type=click.Path(path_type=Path))
@click.argument("task", required=False)
def review_import(file, task, home, json) -> None:
    """Store the verdicts of a CSV file, all or none.

    Columns: instance_id, class, agree (yes, no), reader, date, reason if there is one, and task where TASK is not
    given. What is stored already is counted and left.
    """
    from warehouse.review.verdicts import import_csv

    added = import_csv(home, file, task)
    print_json(added.as_json()) if json else click.echo(added.as_text())


@verb("list", json=True, of=review)
@click.argument("task")
def review_list(task, home, json) -> None:
    """Every verdict on TASK, what the label was and is, and whether a later verdict replaced it."""
    from warehouse.review.agreement import LISTED, verdicts
    from warehouse.table import as_text

    rows = verdicts(home, task)
    print_json([dict(zip(LISTED, row, strict=True)) for row in rows]) if json else click.echo(
        as_text(LISTED, rows) if rows else "no verdicts"
    )


@main.group("encoders", invoke_without_command=True)
@click.option("--json", "json", is_flag=True, help="JSON alone on stdout.")
@click.option("--data", metavar="DIR", help="As every verb has it; encoders read no data home.")
@click.pass_context
def encoders(ctx, json, data) -> None:
    """List the ECG foundation encoders: what each takes and gives, and where its checkpoint is.

    Checkpoints lie under $LEADHOUSE_CHECKPOINTS, or $ECG_CKPT_ROOT, in the benchmark's folders.
    """
    if ctx.invoked_subcommand:
        return
    from pipelines.encoders import listed

    found = listed()
    print_json(stamped("encoders", {"encoders": [each.as_json() for each in found]})) if json else click.echo(
        "\n\n".join(each.as_text() for each in found)
    )


@verb("check", json=True, of=encoders)
@click.argument("name")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def encoders_check(name, file, home, json) -> None:
    """Load the checkpoint FILE into encoder NAME, strictly, and say what became of every key.

    Without FILE: the card's, under the root of checkpoints. Exit 1 when anything is not accounted for: then nothing
    was loaded. Nothing in the file is run.
    """
    from pipelines.encoders import check

    report = check(name, file)
    print_json(stamped("encoders-check", report.as_json())) if json else click.echo(report.as_text())
    if not report.ok:
        raise InputError(f"{report.source.path} does not load as {name}: {report.faults()[0]}")


@verb("bundle", json=True)
@click.argument("task")
@click.argument("out", type=click.Path(path_type=Path), required=False)
def bundle(task, out, home, json) -> None:
    """Write one archive of TASK that can be deposited: rules, maps, split, spec, manifest, labels, counts, citation.

    OUT is a file or a folder; default <slug>-v<N>.zip here. The same build gives the same bytes. Labels and
    membership are left out where the data set's card does not let them be shared.
    """
    from pipelines.bundle.stage import bundle as stage

    made = stage(home, task, out)
    print_json(made.as_json()) if json else click.echo(made.as_text())


@verb("export", json=True)
@click.argument("task")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--format", "format", type=click.Choice(["csv", "wfdb"]), help="Default csv.")
@click.option("--part", help="Only this part; default: all.")
def export(task, out, format, part, home, json) -> None:
    """Write TASK's labels to the folder OUT: a CSV with a column a class, or WFDB headers with label lines.

    With classes.json: classes in order, counts, notes, licence. Instances that are left out are not written, those
    without a label are. Headers are for tasks of whole records; `score-folders` reads them.
    """
    from pipelines.export import export as stage

    made = stage(home, task, out, format=format or "csv", part=part)
    warn_stale(made.stale)
    print_json(made.as_json()) if json else click.echo(made.as_text())


@verb("cite", json=True)
@click.argument("task")
def cite(task, home, json) -> None:
    """Licence, citation and the exact versions of everything behind TASK."""
    from warehouse import cite as stage

    citation = stage.cite(home, task)
    print_json(citation) if json else click.echo(stage.as_text(citation))


@verb("docs", json=True)
@click.argument("out", required=False, type=click.Path(path_type=Path))
def docs(out, home, json) -> None:
    """Write the label book: tasks, views, maps and examples of the data home as one static folder.

    OUT is a new or empty folder, or an earlier book, which is replaced; default docs in the data home. Open its
    index.html: no server, nothing fetched. The same home gives the same bytes.
    """
    from pipelines.book.write import write_book

    folder = write_book(home, out)
    print_json({"book": str(folder)}) if json else click.echo(folder / "index.html")


@verb("demo")
@click.option(
    "--task", metavar="TASK", default="vitaldb-arrhythmia-abnormal", show_default=True, help="Of which task."
)
@click.option("--cases", type=click.IntRange(6), help="How many cases or records; default 24, 400 or 19.")
@click.option(
    "--seconds", type=click.IntRange(120), default=240, show_default=True, help="Annotated length of a case."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random numbers.")
def demo(task, cases, seconds, seed, home) -> None:
    """The whole street on a small synthetic release: load, label, count, predict, score, one HTML report.

    TASK is vitaldb-arrhythmia-abnormal, lydus-ecg-image or ecg-heartbeat-arrhythmia (which has no page yet).
    """
    from pipelines.demo import run_demo

    run_demo(
        home,
        task=task,
        cases=cases,
        seconds=seconds,
        seed=seed,
        invoke=lambda args: main.main(args, standalone_mode=False),
    )


if __name__ == "__main__":
    main()

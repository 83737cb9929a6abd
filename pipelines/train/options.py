"""The options of `train` and `predict`; what their values mean stands in `pipelines.train.settings`.

Each is a decorator of a click command. Only click is imported: a command line must start fast.
"""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.options import joined

settings_options = joined(
    click.option(
        "--model",
        type=click.Choice(["resnet18", "beatnet", "kachuee", "rhythmnet"]),
        help="Default by the task: images, heartbeats (ours, or the paper's kachuee), seconds of a lead.",
    ),
    click.option(
        "--weights", metavar="imagenet|none|PATH", help="What resnet18 starts from; default imagenet."
    ),
    click.option("--init-from", metavar="RUN", help="Take the convolutions of this trained model."),
    click.option("--freeze", type=click.Choice(["none", "conv"]), help="conv: those stay as they are."),
    click.option(
        "--input-scale", type=float, metavar="S", help="Of the image's width and height; default 0.5."
    ),
    click.option("--epochs", type=int, help="Default 12; of heartbeats 20."),
    click.option("--batch", type=int, help="Default 32; heartbeats 256, rhythmnet 64."),
    click.option("--lr", type=float, help="The first learning rate, a cosine from there; resnet18 3e-4."),
    click.option(
        "--amp",
        type=click.Choice(["auto", "off", "bf16", "fp16"]),
        help="Half precision; default auto: on a GPU. bf16 pays on CPUs that compute it (avx512_bf16, AMX).",
    ),
    click.option(
        "--balance",
        type=click.Choice(["none", "weights", "root", "resample"]),
        help="weights: rare classes count more, root: by the root of that, resample: come more often; default none.",
    ),
    click.option(
        "--augment", type=click.Choice(["none", "beats"]), help="beats: shift, scale and noise, seeded."
    ),
    click.option(
        "--average",
        type=float,
        help="Average the weights: the share that a step keeps; beatnet 0.995, else 0.",
    ),
    click.option(
        "--choose",
        metavar="METRIC[+METRIC]",
        help="What validation chooses by; default: the primary, of heartbeats macro_f1+macro_recall.",
    ),
    click.option("--patience", type=int, help="Epochs without a better one that end it; 0: never."),
    click.option("--dense-layers", type=int, help="kachuee: dense layers of 32; default 2."),
    click.option(
        "--pool", type=click.Choice(["valid", "same"]), help="kachuee: how it pools; default valid."
    ),
    click.option("--seed", type=int, help="Of all random numbers; default 0."),
)
"""What a model is and how it is trained, as `pipelines.train.settings.Settings` takes it."""

place_options = joined(
    click.option(
        "--workers", type=click.IntRange(1), help="Threads that decode images; default: a core each."
    ),
    click.option("--threads", type=click.IntRange(1), help="Torch's threads; default: torch's own."),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda", "mps"]),
        default="auto",
        show_default=True,
        help="auto: a CUDA GPU, else an Apple GPU, else the CPU.",
    ),
    click.option(
        "--images", type=click.Path(path_type=Path), help="A folder of images; default: in the data home."
    ),
)
"""Where a model works and what it reads."""

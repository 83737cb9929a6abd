"""Trains the toy pages and dies at a moment: run by test_resume in a process of its own.

Arguments: the home, the moment (``epoch N``: after the checkpoint of epoch N; ``writing N``: while that of epoch N is
written; ``published``: when the folder has its name; ``never``).
"""

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import pytest  # noqa: E402
import tiny  # noqa: E402
import torch  # noqa: E402
from toy_street import QUICK, patched  # noqa: E402

from pipelines.train import checkpoint, folder, stage  # noqa: E402
from pipelines.train.watch import Watch  # noqa: E402
from warehouse.home import Home  # noqa: E402


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(home: Home, moment: str) -> None:
    what, _, number = moment.partition(" ")
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patched(patch, home)
        patch.setattr("models.make", tiny.make)
        save = torch.save
        written = []

        def saving(content, file):
            written.append(content)
            if what == "writing" and len(written) == int(number):
                file.write(b"half of it")
                file.flush()
                die()
            save(content, file)

        patch.setattr(checkpoint, "_save", saving)
        if what == "published":
            patch.setattr(folder, "tidy", lambda published: die())

        class Dies(Watch):
            def say(self, text: str) -> None:
                if what == "epoch" and text.startswith(f"epoch {number:>3} "):
                    die()

        stage.train(home, "toy-pages@0", QUICK, run="first", threads=1, watch=Dies())


main(Home(Path(sys.argv[1])), sys.argv[2])

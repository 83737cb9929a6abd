"""What is no checkpoint is refused and said to be what it is."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

from tests.models.encoders.probe import refused, rules

pytestmark = pytest.mark.usefixtures("one_thread")


def page(path: Path) -> Path:
    path.write_text(
        "<!DOCTYPE html>\n<html><head><title>Google Drive - Virus scan warning</title></head></html>"
    )
    return path


def pointer(path: Path) -> Path:
    path.write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 374490000\n",
        encoding="utf-8",
    )
    return path


def packed(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("res18_best_encoder.pth", b"weights")
    return path


def written(content: bytes):
    def write(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return write


def array() -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.ones(3))
    return stream.getvalue()


def folder(path: Path) -> Path:
    path.mkdir()
    return path


NO_CHECKPOINT = {
    "no file": (lambda path: path, "found no file"),
    "a folder": (folder, "found a folder"),
    "empty": (written(b""), "found an empty file"),
    "a web page": (page, r"found a web page \('<!DOCTYPE html>.*as a failed download leaves one"),
    "text": (written(b"Not Found\n"), r"found text \('Not Found'"),
    "JSON": (
        written(json.dumps({"message": "Not Found"}).encode()),
        r"found text \('\{\"message\": \"Not Found\"\}'",
    ),
    "text of other letters": (written("오류 파일 없음 ".encode() * 200), "found text \\('오류 파일 없음"),
    "no text": (written(b"\xff\xfeA"), "found 3 bytes that begin with ff fe 41"),
    "a git-lfs pointer": (pointer, "found a git-lfs pointer for 374,490,000 bytes.*git lfs pull"),
    "gzip": (written(gzip.compress(b"weights")), "found a gzip archive: unpack it first"),
    "another zip": (packed, r"without data.pkl \(its members: res18_best_encoder.pth\)"),
    "an array": (written(array()), "found a NumPy array"),
    "a plain pickle": (written(b"\x80\x02}q\x00."), "found a pickle that torch.save did not write"),
    "noise": (written(bytes(range(1, 200)) * 3), "found 597 bytes that begin with 01 02 03 04"),
    "too short": (written(b"\x00\x01"), "found 2 bytes that begin with 00 01"),
}


@pytest.mark.parametrize("case", NO_CHECKPOINT)
def test_what_is_no_checkpoint_is_said_to_be_what_it_is(case, tmp_path):
    make, words = NO_CHECKPOINT[case]
    message = refused(make(tmp_path / "file.pt"), rules(), words)
    assert "expected a checkpoint: safetensors, or what torch.save writes" in message

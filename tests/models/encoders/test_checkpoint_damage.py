"""A torch zip is read when its bytes are those that were written, and none is unpacked beyond its weights."""

import argparse
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models.encoders.checkpoint import load
from tests.models.encoders.probe import Small, changed, holds, refused, rules, save, weights

pytestmark = pytest.mark.usefixtures("one_thread")


def place_of(path: Path, number: float) -> int:
    """Where the file has this float32."""
    return path.read_bytes().index(torch.tensor([number]).numpy().tobytes())


@pytest.mark.parametrize("reader", ["weights_only", "tolerant"])
def test_one_changed_byte_of_a_weight_is_damage(reader, tmp_path):
    """torch's own reader does not see it: the control."""
    content = {"model": changed("bn.bias", torch.full((4,), 0.8125)), "cfg": argparse.Namespace(layers=1)}
    if reader == "weights_only":
        content["cfg"] = {"layers": 1}
    path, card = save(content, tmp_path / "file.pt"), rules(containers=("model",))
    assert load(Small(), path, card).source.reader == reader
    damaged = bytearray(path.read_bytes())
    damaged[place_of(path, 0.8125) + 2] ^= 1
    path.write_bytes(damaged)
    if reader == "weights_only":
        assert float(torch.load(path, weights_only=True)["model"]["bn.bias"][0]) != 0.8125
    refused(path, card, r"a member file/data/\d+ whose bytes are not those that were written \(CRC-32\)")


def test_a_hole_as_an_interrupted_download_leaves_it_is_damage(tmp_path):
    state = changed("conv.weight", torch.full((4, 12, 3), 0.8125))
    path, card = save(state, tmp_path / "file.pt"), rules()
    damaged, place = bytearray(path.read_bytes()), place_of(path, 0.8125)
    damaged[place + 16 : place + 400] = bytes(384)
    path.write_bytes(damaged)
    assert bool((torch.load(path, weights_only=True)["conv.weight"] == 0).any())
    refused(path, card, "its download was not finished")


@pytest.mark.parametrize("config", [{"layers": 1}, argparse.Namespace(layers=1)], ids=["torchs", "ours"])
def test_a_file_without_checksums_loads_with_a_note(config, tmp_path):
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        path = save({"model": weights(), "cfg": config}, tmp_path / "file.pt")
    finally:
        torch.serialization.set_crc32_options(before)
    encoder = Small()
    report = load(encoder, path, rules(containers=("model",)))
    holds(encoder, weights())
    assert report.notes[0].startswith("the file has no checksums")
    assert "no checksums" in report.as_text()


def packed_anew(path: Path, to: Path, method: int, **others: bytes) -> Path:
    """The same archive, packed, with members replaced or added beside data.pkl."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(to, "w", method) as made:
        for name in archive.namelist():
            made.writestr(name, others.pop(name.rpartition("/")[2].replace(".", "_"), archive.read(name)))
        for name, content in others.items():
            made.writestr(f"file/data/{name}", content)
    return to


BOMBS = {
    "a pickle": ({"data_pkl": b"N0" * (30 << 20) + b"N."}, zipfile.ZIP_DEFLATED, "that unpacks to 62,"),
    "a large pickle": (
        {"data_pkl": b"N0" * (32 << 20) + b"N."},
        zipfile.ZIP_DEFLATED,
        "data.pkl of 67,108,866",
    ),
    "a storage": ({"more": bytes(30 << 20)}, zipfile.ZIP_DEFLATED, "that unpacks to 31,"),
    "another packing": ({}, zipfile.ZIP_LZMA, "packed by method 14"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_an_archive_that_grows_without_measure_is_refused_before_it_is_unpacked(bomb, tmp_path, monkeypatch):
    others, method, words = BOMBS[bomb]
    path = packed_anew(save(weights(), tmp_path / "file.pt"), tmp_path / "packed.pt", method, **others)

    def unpacked(*_: object, **__: object) -> None:
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpacked)
    monkeypatch.setattr(torch, "load", unpacked)
    refused(path, rules(), words)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = save(changed("conv.weight", torch.zeros(4, 12, 3)), tmp_path / "file.pt")
    with zipfile.ZipFile(path, "a") as archive:
        largest = max(archive.infolist(), key=lambda each: each.file_size)
        archive.filelist += [largest] * 50
        archive._didModify = True
    refused(path, rules(), "they overlap")


def test_a_damaged_member_of_a_packed_archive_is_refused(tmp_path):
    path = packed_anew(save(weights(), tmp_path / "file.pt"), tmp_path / "packed.pt", zipfile.ZIP_DEFLATED)
    load(Small(), path, rules())
    with zipfile.ZipFile(path) as archive:
        member = max(
            (each for each in archive.infolist() if "/data/" in each.filename),
            key=lambda each: each.file_size,
        )
    damaged = bytearray(path.read_bytes())
    damaged[member.header_offset + 30 + len(member.filename) + member.compress_size // 2] ^= 0x55
    path.write_bytes(damaged)
    refused(path, rules(), "damaged")

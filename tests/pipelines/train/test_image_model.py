"""ResNet-18 for grey pages: the same as the colour network on a grey image, and weights from a file or the net."""

import hashlib
import urllib.error
from dataclasses import replace
from pathlib import Path

import pytest
from toy_pages import pages, write_pages
from toy_street import QUICK, patched

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from models import WeightsError  # noqa: E402
from models.image import IMAGENET, MEAN, SD, PageNet  # noqa: E402
from pipelines.train.predict import predict  # noqa: E402
from pipelines.train.stage import train  # noqa: E402
from warehouse.errors import HomeError  # noqa: E402
from warehouse.home import Home  # noqa: E402

TASK = "toy-pages@0"


@pytest.fixture(scope="module")
def colour():
    """torchvision's network as it comes, eight classes."""
    from torchvision.models import resnet18

    torch.manual_seed(5)
    return resnet18(num_classes=8).eval()


@pytest.fixture
def weights(colour, tmp_path: Path) -> Path:
    torch.save(colour.state_dict(), tmp_path / "weights.pt")
    return tmp_path / "weights.pt"


def test_the_one_channel_is_the_sum_of_three(colour, weights):
    model = PageNet(8)
    start = model.start_from(str(weights))
    assert start == {
        "file": "weights.pt",
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "not_loaded": [],
    }
    pixels = torch.randint(0, 256, (2, 40, 56), dtype=torch.uint8)
    grey = ((pixels.float() / 255 - MEAN) / SD).unsqueeze(1).expand(-1, 3, -1, -1)
    with torch.inference_mode():
        torch.testing.assert_close(model.eval()(pixels), colour(grey), atol=1e-4, rtol=1e-4)


def test_another_number_of_classes_draws_the_last_layer(weights):
    model = PageNet(3)
    assert model.start_from(str(weights))["not_loaded"] == ["net.fc.bias", "net.fc.weight"]
    assert model(torch.zeros(2, 32, 32, dtype=torch.uint8)).shape == (2, 3)


def test_weights_of_our_own_bring_their_normalisation(tmp_path):
    model = PageNet(3)
    model.normalise(0.9, 0.1)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = PageNet(3)
    other.start_from(str(tmp_path / "model.pt"))
    assert (other.mean.item(), other.sd.item()) == (pytest.approx(0.9), pytest.approx(0.1))
    assert torch.equal(other.net.fc.weight, model.net.fc.weight)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "cannot be read as weights"),
        (b"no weights", "cannot be read as weights"),
        ([1, 2], "found a list; expected a state dict"),
        ({"a": 1}, "found no state dict"),
        (
            {"a": torch.zeros(1)},
            "found no fitting net.conv1.weight, .* and [0-9]+ more; expected the weights of a ResNet-18",
        ),
    ],
)
def test_files_that_are_no_weights(tmp_path, content, found):
    path = tmp_path / "weights.pt"
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(WeightsError, match=found):
        PageNet(3).start_from(str(path))


def test_code_in_a_weights_file_is_not_run(tmp_path):
    class Runs:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    torch.save({"a": Runs()}, tmp_path / "weights.pt")
    with pytest.raises(WeightsError, match="cannot be read as weights"):
        PageNet(3).start_from(str(tmp_path / "weights.pt"))
    assert not (tmp_path / "ran").exists()


def test_imagenet_weights_without_a_network(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path))

    def no_network(*args, **kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("torch.hub.download_url_to_file", no_network)
    with pytest.raises(WeightsError, match=r"the ImageNet weights cannot be fetched .*no route to host"):
        PageNet(3).start_from("imagenet")


def test_imagenet_weights_are_fetched_once_and_checked(colour, weights, tmp_path, monkeypatch):
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
    asked = []

    def fetch(url, path, begins, progress):
        asked.append((url, begins))
        Path(path).write_bytes(weights.read_bytes())

    class Published:
        url = f"https://example.org/models/resnet18-{sha256[:8]}.pth"

    monkeypatch.setattr("models.image.IMAGENET", Published)
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path / "hub"))
    monkeypatch.setattr("torch.hub.download_url_to_file", fetch)
    for _ in range(2):
        assert PageNet(8).start_from("imagenet")["sha256"] == sha256
    assert asked == [(Published.url, sha256[:8])]
    (path,) = (tmp_path / "hub" / "checkpoints").iterdir()
    path.write_bytes(path.read_bytes() + b"0")
    with pytest.raises(WeightsError, match="expected one that begins with"):
        PageNet(8).start_from("imagenet")


def test_the_address_ends_in_a_digest():
    assert IMAGENET.url.startswith("https://")
    assert len(bytes.fromhex(Path(IMAGENET.url).stem.rpartition("-")[2])) == 4


def test_the_real_network_end_to_end(tmp_path, monkeypatch, weights):

    street = patched(monkeypatch, Home(tmp_path / "data"))
    settings = replace(QUICK, epochs=1, batch=16, weights=str(weights))
    record = train(street.home, TASK, settings, run="real")
    assert record["start"]["file"] == "weights.pt"
    assert predict(street.home, TASK, "real")["rows"] == 24
    fetched = replace(settings, weights="imagenet")
    monkeypatch.setattr("models.image._fetch", lambda: Path("gone.pth"))
    with pytest.raises(HomeError, match=r"--weights imagenet: gone.pth: cannot be read(.|\n)*--weights none"):
        train(street.home, TASK, fetched, run="other")
    write_pages(street.images(TASK), pages())

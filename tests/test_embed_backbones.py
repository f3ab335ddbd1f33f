"""Pictures by pretrained models of other packages: small ones that are made here, with weights drawn at random."""

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
    [("transformers:some/model", "transformers", "transformers")],
)
def test_without_the_package_one_sentence_says_how_to_get_it(name, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert refused(lambda: embedder(name).fit([])).endswith(
        f" needs the package {package}: pip install 'ramify[{extra}]'"
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

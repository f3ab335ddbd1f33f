"""Guidelines: what people who answer should know, in a file that whoever serves the project writes."""

import itertools
from pathlib import Path

from ramify.files import whole_file
from ramify.project.limits import LONGEST_GUIDELINES
from ramify.project.store.backup import GUIDELINES


def read_guidelines(folder: Path, name: str) -> dict[str, str]:
    """Title, first paragraph and text of the guidelines; without a file the title is the name.

    >>> read_guidelines(Path("nowhere"), "pets")
    {'title': 'pets', 'about': '', 'guidelines': ''}
    """
    try:
        text = (folder / GUIDELINES).read_text(encoding="utf-8", errors="replace")[:LONGEST_GUIDELINES]
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), name)
    first = itertools.dropwhile(lambda line: not line or line.startswith(("#", "-", "*")), lines)
    about = " ".join(itertools.takewhile(lambda line: line and not line.startswith(("#", "-", "*")), first))
    return {"title": title, "about": about, "guidelines": text}


def write_guidelines(folder: Path, text: str) -> None:
    """Replace the guidelines as a whole; an empty text takes them away."""
    path = folder / GUIDELINES
    if text.strip():
        with whole_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)

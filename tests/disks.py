"""Disks for tests: full, or read-only. Where mounting is not allowed, the test is skipped, saying so."""

import subprocess
from contextlib import contextmanager, suppress

import pytest


@contextmanager
def small_disk(place, size):
    """A file system in memory at a new folder."""
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "none", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def read_only(folder, place):
    """The same folder at another place, where it can only be read."""
    place.mkdir()
    mount("--bind", str(folder), str(place))
    try:
        mount("-o", "remount,ro,bind", str(place))
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def mount(*arguments):
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no command mount")
    if done.returncode:
        pytest.skip("only root may mount disks")


def fill(folder, room=0):
    """Leave so many bytes of room; delete what this returns to make room again."""
    path = folder / "filling"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
        file.truncate(file.tell() - room)
    return path

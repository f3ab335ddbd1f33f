"""The size of COCO's own training file: memory and CPU seconds of reading it, in a process of its own.

Run: python benchmarks/coco.py [megabytes]
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

IMAGES, ANNOTATED, CATEGORIES, SUPERCATEGORIES = 82_783, 82_081, 80, 12
ANNOTATIONS = 604_907


def write_instances(path: Path, megabytes: int) -> None:
    """Made-up instances in the official shape, with polygons so long that the file has about this size."""
    rng = np.random.default_rng(0)
    images = rng.permutation(600_000)[:IMAGES].tolist()
    info = {"description": "made up", "url": "", "version": "1.0", "year": 2014, "contributor": "", "date_created": ""}
    points = max(3, round((megabytes * 1e6 / ANNOTATIONS - 190) / 15.5))
    owners = np.concatenate([np.arange(ANNOTATED), rng.integers(ANNOTATED, size=ANNOTATIONS - ANNOTATED)])
    kinds = rng.integers(1, CATEGORIES + 1, len(owners))
    coordinates = (rng.random((1000, 2 * points)) * 640).round(2)
    with path.open("w") as file:
        file.write('{"info": ' + json.dumps(info) + ', "images": [')
        for place, number in enumerate(images):
            name = f"COCO_train2014_{number:012d}.jpg"
            image = {
                "license": 5,
                "file_name": name,
                "coco_url": f"http://images.example.org/train2014/{name}",
                "height": 480,
                "width": 640,
                "date_captured": "2013-11-14 16:28:13",
                "flickr_url": f"http://farm4.example.org/3153/{number}_cbf3fb6b33_z.jpg",
                "id": number,
            }
            file.write((", " if place else "") + json.dumps(image))
        file.write('], "licenses": [{"url": "", "id": 5, "name": "made up"}], "annotations": [')
        for place, (owner, kind) in enumerate(zip(owners.tolist(), kinds.tolist(), strict=True)):
            polygon = coordinates[place % 1000].tolist()
            annotation = {
                "segmentation": [polygon],
                "area": polygon[0] * polygon[1],
                "iscrowd": 0,
                "image_id": images[owner],
                "bbox": polygon[:4],
                "category_id": kind,
                "id": place,
            }
            file.write((", " if place else "") + json.dumps(annotation))
        names = [(n, f"category {n}", f"supercategory {n % SUPERCATEGORIES}") for n in range(1, CATEGORIES + 1)]
        categories = [dict(zip(("id", "name", "supercategory"), name, strict=True)) for name in names]
        file.write('], "categories": ' + json.dumps(categories) + "}")


def measure(path: Path) -> None:
    """In the process that reads: what it took."""
    from ramify.readers.coco import read

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
    items = read(path)
    used, after = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF)
    print(f"{path.stat().st_size / 1e6:.0f} MB, {items.labels}, {items.unlabelled} images without an annotation")
    print(f"CPU seconds    {used:6.1f}")
    print(f"peak memory    {after.ru_maxrss / 1024:6.0f} MiB, {before.ru_maxrss / 1024:.0f} of it before reading")
    if after.ru_maxrss > 1 << 20:
        sys.exit("a bound does not hold: 1 GiB")


def main(megabytes: int = 250) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "instances_train2014.json")
        write_instances(path, megabytes)
        sys.exit(subprocess.run([sys.executable, __file__, str(path)], check=False).returncode)


if __name__ == "__main__":
    argument = sys.argv[1:]
    if argument and argument[0].endswith(".json"):
        measure(Path(argument[0]))
    else:
        main(*map(int, argument))

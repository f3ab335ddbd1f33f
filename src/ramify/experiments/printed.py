"""The numbers that the paper prints, to stand beside those of the same images; its features are ResNet-50's."""

from dataclasses import dataclass

from ramify.errors import RamifyError

METHODS = {
    "fully-supervised": "Fully-Supervised",
    "leml": "LEML",
    "one-class": "One-Class Classification",
    "pseudo-label": "Ours",
}
"""Our names of the columns of its Tables 1 and 2."""
STRATEGIES = {"random": "RS", "uncertainty": "US", "look-ahead": "Ours"}
"""Our names of the columns of its Table 3."""
RATIOS, METRICS = (-10, -9, -8, -7, -6), ("p@1", "p@3", "p@5")


@dataclass(frozen=True)
class Printed:
    """What the paper reports of one data set."""

    name: str
    """How the paper calls the data."""
    rows: tuple[tuple[float, ...], ...]
    """Tables 1 and 2: for each ratio P@1, P@3 and P@5, a number for each method."""
    areas: tuple[tuple[float, ...], ...]
    """Table 3: P@1, P@3 and P@5, a number for each strategy."""

    def precision(self, method: str, ratio: float | None, metric: str) -> float | None:
        """A number of Table 1 or 2, where there is one.

        >>> printed("coco").precision("leml", -9, "p@3")
        0.389
        """
        if method not in METHODS or ratio not in RATIOS:
            return None
        return self.rows[RATIOS.index(int(ratio)) * 3 + METRICS.index(metric)][list(METHODS).index(method)]

    def area(self, strategy: str, metric: str) -> float | None:
        """A number of Table 3, where there is one.

        >>> printed("mirflickr").area("look-ahead", "p@1")
        0.8843
        """
        if strategy not in STRATEGIES:
            return None
        return self.areas[METRICS.index(metric)][list(STRATEGIES).index(strategy)]


PRINTED = {
    "coco": Printed(
        "MS COCO",
        (
            (0.5959, 0.4689, 0.5515, 0.6633), (0.3406, 0.2499, 0.2593, 0.4024), (0.2487, 0.1785, 0.2203, 0.3083),
            (0.6527, 0.6566, 0.6105, 0.7217), (0.3822, 0.3890, 0.3477, 0.4391), (0.2802, 0.2883, 0.2615, 0.3227),
            (0.6797, 0.6128, 0.7051, 0.7410), (0.4223, 0.3214, 0.4021, 0.4612), (0.3127, 0.2252, 0.2867, 0.3482),
            (0.7088, 0.6654, 0.7408, 0.7705), (0.4369, 0.3858, 0.4379, 0.4872), (0.3220, 0.2810, 0.3106, 0.3607),
            (0.7631, 0.7543, 0.7564, 0.7792), (0.4653, 0.4448, 0.4165, 0.4922), (0.3387, 0.3211, 0.2946, 0.3637),
        ),
        ((0.7246, 0.7721, 0.7782), (0.4494, 0.4691, 0.4727), (0.3400, 0.3440, 0.3482)),
    ),
    "mirflickr": Printed(
        "MirFlickr",
        (
            (0.6033, 0.4964, 0.5724, 0.8595), (0.5045, 0.3675, 0.4509, 0.6617), (0.4255, 0.3058, 0.4154, 0.5532),
            (0.6349, 0.5699, 0.5760, 0.8849), (0.5180, 0.4768, 0.4655, 0.6845), (0.4476, 0.4214, 0.4170, 0.5675),
            (0.7184, 0.6641, 0.6385, 0.9025), (0.5829, 0.5273, 0.5035, 0.6951), (0.4975, 0.4529, 0.4400, 0.5747),
            (0.7676, 0.6875, 0.6533, 0.9107), (0.6200, 0.5593, 0.5091, 0.7126), (0.5254, 0.4797, 0.4373, 0.5801),
            (0.7990, 0.7533, 0.6704, 0.9094), (0.6523, 0.6064, 0.5248, 0.7244), (0.5469, 0.5125, 0.4437, 0.5932),
        ),
        ((0.8822, 0.8832, 0.8843), (0.6766, 0.6789, 0.6785), (0.5599, 0.5624, 0.5611)),
    ),
}  # fmt: skip


def printed(name: str) -> Printed:
    """The paper's numbers of 'coco' or 'mirflickr'.

    >>> printed("coco").name
    'MS COCO'
    """
    if name not in PRINTED:
        raise RamifyError(f"the paper prints no numbers of {name!r}: choose {' or '.join(map(repr, PRINTED))}")
    return PRINTED[name]

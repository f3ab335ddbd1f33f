"""Icons: twenty small pictures, drawn from shapes at any place, size, tilt and colour."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL.ImageDraw import ImageDraw

__all__ = ["ICONS", "Colour", "Pen", "draw_icon", "mix"]

Colour: TypeAlias = tuple[int, int, int]
Points: TypeAlias = NDArray[np.float64]

BLACK, WHITE = (38, 38, 46), (252, 252, 250)
BROWN, GREEN, PINK, RED = (122, 82, 52), (74, 158, 70), (240, 150, 160), (226, 70, 80)
GLASS, ORANGE, YELLOW = (190, 226, 244), (246, 156, 44), (252, 214, 72)


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """A colour between two: the first one with a share of the other.

    >>> mix((0, 0, 0), (200, 100, 0), 0.5)
    (100, 50, 0)
    """
    red, green, blue = (round(own + (its - own) * share) for own, its in zip(colour, other, strict=True))
    return red, green, blue


class Pen:
    """Draws shapes given in a square of 100 x 100, wherever and however that square lies in the picture."""

    def __init__(
        self, canvas: ImageDraw, centre: tuple[float, float], size: float, tilt: float = 0, mirrored: bool = False
    ) -> None:
        self.canvas, self.centre, self.scale = canvas, np.array(centre), size / 100
        cos, sin = np.cos(np.radians(tilt)) * self.scale, np.sin(np.radians(tilt)) * self.scale
        self.turn = np.array([[-1 if mirrored else 1, 0], [0, 1]]) @ np.array([[cos, sin], [-sin, cos]])

    def place(self, points: ArrayLike) -> list[tuple[float, float]]:
        """Where points of the square lie in the picture."""
        placed = (np.asarray(points, float) - 50) @ self.turn + self.centre
        return [(x, y) for x, y in placed.tolist()]

    def shape(self, points: ArrayLike, colour: Colour) -> None:
        """A filled polygon."""
        self.canvas.polygon(self.place(points), fill=colour)

    def oval(
        self, x: float, y: float, width: float, height: float, colour: Colour, arc: tuple[float, float] = (0, 360)
    ) -> None:
        """A filled ellipse around a point, or the segment of it between two angles (clockwise, 0 to the right)."""
        self.shape(curve(x, y, width, height, *arc), colour)

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour, radius: float = 0.1) -> None:
        """A filled rectangle with round corners."""
        size, inner = 2 * radius, (left + radius, top + radius, right - radius, bottom - radius)
        corners = [
            (inner[2], inner[3], 0),
            (inner[0], inner[3], 90),
            (inner[0], inner[1], 180),
            (inner[2], inner[1], 270),
        ]
        rounded = [curve(x, y, size, size, angle, angle + 90) for x, y, angle in corners]
        self.shape(np.concatenate(rounded), colour)

    def stroke(self, points: ArrayLike, colour: Colour, width: float) -> None:
        """A line through points, with round ends."""
        placed, thick = self.place(points), max(1, round(width * self.scale))
        self.canvas.line(placed, fill=colour, width=thick, joint="curve")
        for x, y in (placed[0], placed[-1]):
            self.canvas.ellipse((x - thick / 2, y - thick / 2, x + thick / 2, y + thick / 2), fill=colour)


def curve(x: float, y: float, width: float, height: float, start: float, end: float) -> Points:
    """Points on an ellipse around (x, y) between two angles."""
    points: Points = np.array([x, y]) + unit_arc(start, end) * np.array([width / 2, height / 2])
    return points


@cache
def unit_arc(start: float, end: float) -> Points:
    """Points on the unit circle between two angles."""
    angles = np.radians(np.linspace(start, end, 2 + int(abs(end - start) / 12)))
    return np.column_stack([np.cos(angles), np.sin(angles)])


def cat(pen: Pen, coat: Colour) -> None:
    """A face with pointed ears, slit eyes and whiskers."""
    dark, light = mix(coat, BLACK, 0.35), mix(coat, WHITE, 0.75)
    for side in (-1, 1):
        pen.shape([(50 + side * 40, 54), (50 + side * 36, 4), (50 + side * 8, 28)], coat)
        pen.shape([(50 + side * 34, 40), (50 + side * 32, 14), (50 + side * 15, 29)], PINK)
    pen.oval(50, 58, 84, 70, coat)
    for x in (-9, 0, 9):
        pen.stroke([(50 + x, 25), (50 + x * 0.8, 38 - abs(x) / 3)], dark, 4)
    pen.oval(41, 72, 24, 20, light)
    pen.oval(59, 72, 24, 20, light)
    for side in (-1, 1):
        pen.oval(50 + side * 19, 53, 19, 20, (196, 226, 90))
        pen.oval(50 + side * 19, 53, 6, 18, BLACK)
        for y in (-6, 2, 10):
            pen.stroke([(50 + side * 22, 72 + y * 0.3), (50 + side * 49, 70 + y)], mix(coat, BLACK, 0.7), 1.8)
    pen.shape([(43, 63), (57, 63), (50, 71)], (226, 104, 122))


def dog(pen: Pen, coat: Colour) -> None:
    """A face with hanging ears, a big nose and its tongue out."""
    dark, light = mix(coat, BLACK, 0.45), mix(coat, WHITE, 0.7)
    pen.oval(50, 46, 64, 72, coat)
    pen.oval(66, 40, 24, 28, light)
    for side in (-1, 1):
        ear = [(24, 10), (38, 13), (47, 34), (46, 58), (38, 68), (29, 60), (27, 40), (17, 18)]
        pen.shape([(50 + side * x, y) for x, y in ear], dark)
        pen.oval(50 + side * 37, 57, 19, 24, dark)
        pen.oval(50 + side * 15, 40, 11, 13, BLACK)
        pen.oval(50 + side * 15 - 2, 38, 4, 4, WHITE)
    pen.box(41, 72, 59, 99, RED, 9)
    pen.stroke([(50, 76), (50, 88)], mix(RED, BLACK, 0.3), 2)
    pen.oval(39, 68, 30, 26, light)
    pen.oval(61, 68, 30, 26, light)
    pen.oval(50, 57, 24, 17, BLACK)
    pen.oval(46, 54, 7, 4, mix(BLACK, WHITE, 0.6))
    pen.stroke([(50, 62), (50, 74)], BLACK, 2.5)


def fish(pen: Pen, scales: Colour) -> None:
    """A side view with fins and stripes, swimming to the right."""
    dark, light = mix(scales, BLACK, 0.3), mix(scales, WHITE, 0.55)
    pen.shape([(30, 50), (2, 22), (10, 50), (2, 78)], dark)
    pen.shape([(38, 32), (52, 10), (72, 16), (70, 36)], dark)
    pen.shape([(46, 68), (50, 88), (64, 80), (64, 64)], dark)
    pen.shape(np.concatenate([curve(60, 50, 76, 54, -150, 150), [(18, 50)]]), scales)
    pen.shape(curve(60, 50, 76, 54, 28, 152), light)
    for x, height in ((42, 17), (55, 22)):
        pen.stroke([(x, 50 - height), (x + 5, 50), (x, 50 + height)], WHITE, 6)
    pen.stroke(curve(64, 50, 24, 40, -60, 60), dark, 3)
    pen.oval(84, 43, 14, 14, WHITE)
    pen.oval(86, 43, 8, 8, BLACK)
    pen.stroke([(96, 56), (89, 59)], dark, 3)


def bird(pen: Pen, feathers: Colour) -> None:
    """A side view on two legs, looking to the right."""
    dark, light = mix(feathers, BLACK, 0.3), mix(feathers, WHITE, 0.65)
    for x in (46, 58):
        pen.stroke([(x, 76), (x, 95), (x + 8, 95)], ORANGE, 4)
    pen.shape([(30, 56), (0, 44), (2, 60), (28, 76)], dark)
    pen.oval(50, 58, 60, 46, feathers)
    pen.oval(68, 34, 38, 38, feathers)
    pen.shape([(30, 48), (52, 24), (86, 40), (79, 64)], feathers)
    pen.shape(curve(56, 62, 46, 38, 0, 120), light)
    pen.shape([(84, 26), (100, 35), (84, 42)], ORANGE)
    pen.shape(np.concatenate([curve(42, 52, 36, 26, -90, 90), [(16, 68), (22, 50)]]), dark)
    pen.oval(74, 31, 11, 11, WHITE)
    pen.oval(75, 31, 7, 7, BLACK)


def apple(pen: Pen, skin: Colour) -> None:
    """Two round cheeks, a stem and a leaf."""
    pen.stroke([(50, 32), (52, 18), (57, 7)], BROWN, 6)
    pen.shape([(54, 22), (64, 8), (86, 8), (76, 24)], GREEN)
    for side in (-1, 1):
        pen.oval(50 + side * 14, 57, 54, 62, skin)
        pen.oval(50 + side * 7, 68, 48, 58, skin)
    pen.shape([(38, 27), (62, 27), (50, 38)], mix(skin, BLACK, 0.35))
    pen.stroke(curve(36, 58, 36, 42, 175, 255), mix(skin, WHITE, 0.65), 6)


def banana(pen: Pen, skin: Colour) -> None:
    """A crescent with brown ends."""
    outer, inner = curve(46, 18, 100, 144, 4, 122), curve(34, 8, 96, 104, 112, 6)
    pen.shape(np.concatenate([outer, inner]), skin)
    pen.stroke(curve(40, 13, 100, 126, 22, 104), mix(skin, BROWN, 0.4), 3)
    pen.shape([(80, 18), (84, 3), (95, 3), (97, 26)], BROWN)
    pen.oval(17, 69, 12, 15, mix(BROWN, BLACK, 0.4))


def cherry(pen: Pen, skin: Colour) -> None:
    """A pair on joined stems with a leaf."""
    pen.stroke([(28, 66), (34, 40), (56, 8)], GREEN, 5)
    pen.stroke([(74, 70), (70, 40), (56, 8)], GREEN, 5)
    pen.shape([(56, 8), (72, 2), (98, 16), (92, 30), (72, 26)], mix(GREEN, WHITE, 0.2))
    for x, y in ((27, 74), (75, 78)):
        pen.oval(x, y, 44, 42, skin)
        pen.oval(x - 8, y - 8, 12, 10, mix(skin, WHITE, 0.7))


def carrot(pen: Pen, skin: Colour) -> None:
    """A pointed root with a tuft of leaves."""
    for x, y in ((30, 6), (42, 0), (58, 0), (70, 6)):
        pen.stroke([(50, 34), (x, y + 5)], mix(GREEN, WHITE, (x - 30) / 130), 9)
    pen.shape(np.concatenate([curve(50, 42, 46, 28, 180, 360), [(66, 66), (54, 98), (47, 98), (33, 66)]]), skin)
    for y, left, right in ((46, 28, 46), (58, 52, 68), (70, 36, 50)):
        pen.stroke([(left, y), (right, y + 2)], mix(skin, BROWN, 0.5), 3.5)


def wheel(pen: Pen, x: float, y: float, size: float) -> None:
    """A tyre with a hub."""
    pen.oval(x, y, size, size, BLACK)
    pen.oval(x, y, size * 0.5, size * 0.5, (206, 208, 214))


def car(pen: Pen, paint: Colour) -> None:
    """A side view with a cabin and two wheels, driving to the right."""
    pen.shape([(18, 50), (30, 25), (34, 22), (62, 22), (67, 25), (84, 50)], paint)
    pen.shape([(27, 48), (36, 29), (47, 29), (47, 48)], GLASS)
    pen.shape([(52, 48), (52, 29), (61, 29), (74, 48)], GLASS)
    pen.box(2, 46, 98, 74, paint, 9)
    pen.box(2, 64, 98, 74, mix(paint, BLACK, 0.3), 4)
    pen.oval(93, 55, 9, 9, YELLOW)
    pen.box(2, 51, 7, 60, RED, 2)
    pen.box(53, 53, 62, 56, mix(paint, BLACK, 0.4), 1)
    wheel(pen, 25, 74, 25)
    wheel(pen, 75, 74, 25)


def bus(pen: Pen, paint: Colour) -> None:
    """A long tall body with a row of windows."""
    pen.box(1, 16, 99, 80, paint, 8)
    for x in (7, 25, 43):
        pen.box(x, 25, x + 15, 45, GLASS, 2)
    pen.box(63, 25, 77, 78, GLASS, 2)
    pen.stroke([(70, 26), (70, 77)], mix(paint, BLACK, 0.4), 2)
    pen.box(82, 25, 99, 50, GLASS, 2)
    pen.box(1, 52, 60, 59, WHITE, 1)
    pen.box(1, 72, 99, 80, mix(paint, BLACK, 0.35), 4)
    pen.oval(95, 65, 7, 9, YELLOW)
    wheel(pen, 23, 80, 22)
    wheel(pen, 86, 80, 22)


def boat(pen: Pen, paint: Colour) -> None:
    """A hull with a mast and two sails."""
    pen.stroke([(48, 4), (48, 72)], BROWN, 5)
    pen.shape([(52, 6), (54, 62), (94, 62), (76, 30)], WHITE)
    pen.shape([(44, 14), (44, 62), (10, 62)], mix(paint, WHITE, 0.5))
    pen.shape([(2, 68), (98, 68), (80, 94), (20, 94)], paint)
    pen.shape([(2, 68), (98, 68), (94, 75), (6, 75)], WHITE)
    for x in (34, 50, 66):
        pen.oval(x, 84, 7, 7, GLASS)


def plane(pen: Pen, paint: Colour) -> None:
    """An airliner from above, flying up."""
    dark = mix(paint, BLACK, 0.25)
    for side in (-1, 1):
        pen.shape([(50, 36), (50 + side * 48, 62), (50 + side * 48, 71), (50, 60)], dark)
        pen.shape([(50, 78), (50 + side * 22, 91), (50 + side * 22, 98), (50, 92)], dark)
        pen.box(50 + side * 25 - 4, 42, 50 + side * 25 + 4, 59, mix(paint, BLACK, 0.5), 4)
    pen.shape(np.concatenate([curve(50, 20, 18, 38, 180, 360), [(58, 70), (53, 99), (47, 99), (42, 70)]]), paint)
    pen.shape(curve(50, 18, 14, 24, 195, 345), (70, 120, 170))
    for y in (30, 38, 46, 54, 62):
        pen.oval(46, y, 3.5, 4, (70, 120, 170))
        pen.oval(54, y, 3.5, 4, (70, 120, 170))


def tree(pen: Pen, leaves: Colour) -> None:
    """A trunk and a crown of round clumps."""
    pen.shape([(44, 50), (56, 50), (60, 98), (40, 98)], BROWN)
    pen.stroke([(50, 66), (64, 54)], BROWN, 5)
    dark = mix(leaves, BLACK, 0.2)
    for x, y, size in ((26, 48, 42), (74, 48, 42), (50, 56, 38)):
        pen.oval(x, y, size, size * 0.9, dark)
    for x, y, size in ((34, 32, 44), (66, 32, 44), (50, 20, 40), (50, 40, 36)):
        pen.oval(x, y, size, size * 0.9, leaves)
    for x, y in ((36, 24), (56, 16), (64, 34)):
        pen.oval(x, y, 10, 8, mix(leaves, WHITE, 0.35))


def flower(pen: Pen, petals: Colour) -> None:
    """Round petals about a disc, on a stem with leaves."""
    pen.stroke([(50, 36), (49, 70), (51, 97)], GREEN, 6)
    pen.shape([(51, 88), (58, 70), (84, 62), (76, 82)], GREEN)
    pen.shape([(50, 94), (42, 78), (18, 70), (26, 88)], GREEN)
    for number, (x, y) in enumerate(spikes(8, 22, 0)[::2]):
        pen.oval(x, y - 16, 23, 23, mix(petals, BLACK, 0.12 * (number % 2)))
    pen.oval(50, 34, 25, 25, YELLOW if petals[2] > 90 else BROWN)


def cactus(pen: Pen, skin: Colour) -> None:
    """A column with two bent arms, in a pot."""
    dark = mix(skin, BLACK, 0.3)
    for elbow in ([(50, 58), (20, 58), (20, 36)], [(50, 48), (80, 48), (80, 22)]):
        pen.stroke(elbow, skin, 15)
    pen.box(37, 4, 63, 84, skin, 13)
    for x in (44, 50, 56):
        pen.stroke([(x, 14), (x, 72)], dark, 1.8)
    pen.oval(50, 5, 15, 10, (238, 96, 150))
    pen.shape([(30, 78), (70, 78), (65, 99), (35, 99)], (200, 104, 66))
    pen.box(26, 73, 74, 82, (222, 124, 82), 2)


def mushroom(pen: Pen, cap: Colour) -> None:
    """A spotted cap on a pale stem."""
    pen.shape([(38, 48), (62, 48), (68, 90), (60, 97), (40, 97), (32, 90)], (244, 230, 206))
    pen.oval(50, 54, 62, 14, (216, 194, 164))
    pen.shape(np.concatenate([curve(50, 52, 96, 92, 180, 360), curve(50, 52, 96, 18, 0, 180)]), cap)
    for x, y, size in ((50, 26, 22), (24, 42, 15), (76, 42, 15), (44, 50, 9), (64, 53, 8)):
        pen.oval(x, y, size, size * 0.85, WHITE)


def spikes(count: int, outer: float, inner: float) -> list[tuple[float, float]]:
    """The corners of a star."""
    angles = np.radians(np.arange(2 * count) * 180 / count - 90)
    reach = np.where(np.arange(2 * count) % 2, inner, outer)
    return list(zip(50 + reach * np.cos(angles), 50 + reach * np.sin(angles), strict=True))


def sun(pen: Pen, glow: Colour) -> None:
    """A disc with pointed rays."""
    pen.shape(spikes(12, 50, 33), mix(glow, ORANGE, 0.6))
    pen.oval(50, 50, 58, 58, glow)
    pen.oval(50, 50, 44, 44, mix(glow, WHITE, 0.3))


def moon(pen: Pen, glow: Colour) -> None:
    """A crescent with craters."""
    pen.shape(np.concatenate([curve(46, 50, 92, 92, 48.6, 311.4), curve(68, 50, 71, 71, 283.8, 76.2)]), glow)
    for x, y, size in ((16, 44, 11), (22, 68, 9), (34, 20, 8), (42, 86, 7)):
        pen.oval(x, y, size, size, mix(glow, BLACK, 0.18))


def star(pen: Pen, glow: Colour) -> None:
    """Five points, each with a lit and a shaded side."""
    corners = spikes(5, 50, 21)
    pen.shape(corners, glow)
    for number in range(0, 10, 2):
        pen.shape([(50, 50), corners[number], corners[number + 1]], mix(glow, ORANGE, 0.35))


def cloud(pen: Pen, vapour: Colour) -> None:
    """Round heaps on a flat base."""
    shade = mix(vapour, (110, 130, 170), 0.3)
    for colour, lift in ((shade, 0), (vapour, 6)):
        pen.box(4, 46 - lift, 96, 80 - lift, colour, 16)
        pen.oval(38, 44 - lift, 48, 46, colour)
        pen.oval(66, 50 - lift, 38, 36, colour)


Icon: TypeAlias = tuple[Callable[[Pen, Colour], None], Sequence[Colour]]

PAINTS = [(222, 66, 66), (52, 120, 206), (246, 190, 50), (66, 168, 106), (150, 92, 186), (236, 130, 60), (80, 190, 200)]
LEAVES = [(92, 172, 78), (60, 146, 84), (128, 186, 66), (214, 150, 54)]
BERRIES = [(214, 44, 58), (170, 28, 62), (226, 80, 60)]
ICONS: dict[str, Icon] = {
    "cat": (cat, [(240, 166, 84), (140, 146, 158), (90, 86, 94), (222, 196, 158)]),
    "dog": (dog, [(196, 140, 86), (236, 208, 164), (150, 108, 78), (206, 206, 208)]),
    "fish": (fish, PAINTS),
    "bird": (bird, PAINTS),
    "apple": (apple, [(220, 58, 58), (150, 196, 70), (236, 190, 72)]),
    "banana": (banana, [(252, 220, 76), (240, 226, 110), (214, 212, 84)]),
    "cherry": (cherry, BERRIES),
    "carrot": (carrot, [(244, 136, 48), (236, 112, 40), (250, 164, 70)]),
    "car": (car, PAINTS),
    "bus": (bus, PAINTS),
    "boat": (boat, PAINTS),
    "plane": (plane, [(236, 240, 246), (176, 190, 208), (240, 150, 120), (130, 190, 230)]),
    "tree": (tree, LEAVES),
    "flower": (flower, [(244, 120, 160), (250, 250, 246), (170, 110, 220), (250, 206, 60), (240, 90, 70)]),
    "cactus": (cactus, LEAVES[:3]),
    "mushroom": (mushroom, [*BERRIES, (176, 116, 72)]),
    "sun": (sun, [(255, 214, 64), (255, 190, 50), (255, 232, 120)]),
    "moon": (moon, [(250, 232, 160), (228, 232, 240), (252, 214, 110)]),
    "star": (star, [(255, 220, 80), (255, 240, 170), (255, 190, 70)]),
    "cloud": (cloud, [(250, 252, 255), (226, 234, 244), (196, 208, 226)]),
}


def draw_icon(name: str, pen: Pen, random: np.random.Generator) -> None:
    """Draw an icon in one of its colours, slightly varied.

    >>> from PIL import Image, ImageDraw
    >>> picture = Image.new("RGB", (64, 64))
    >>> draw_icon("cat", Pen(ImageDraw.Draw(picture), (32, 32), 60), np.random.default_rng(0))
    >>> picture.getbbox() is None
    False
    """
    draw, colours = ICONS[name]
    chosen = np.clip(colours[int(random.integers(len(colours)))] + random.normal(0, 10, 3), 0, 255)
    red, green, blue = (round(channel) for channel in chosen.tolist())
    draw(pen, (red, green, blue))

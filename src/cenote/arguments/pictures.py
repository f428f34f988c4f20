"""Which arrays look like a picture whose last axis are its colours.

A window on the last two axes of such an array runs over the colours, which is seldom meant.
"""

from __future__ import annotations

CHANNELS = (3, 4)  # RGB, and RGBA or CMYK
LEAST_SIDE = 8
MOST_TIMES_LONGER = 8
TIMES_AS_LONG_AS_COLOURS = 16  # the sides of pictures in a batch


def has_colours(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape is most likely one picture, (height, width, colours).

    Both sides are clearly longer than the last axis, and neither is many times as long as the other: a table of 3 or 4
    columns per record, and planes of few columns per channel, are not pictures.
    """
    if len(shape) != 3 or shape[2] not in CHANNELS:
        return False
    short, long = sorted(shape[:2])
    return short >= LEAST_SIDE and long <= MOST_TIMES_LONGER * short


def sides(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Height and width of what is most likely a picture, or a batch of pictures (N, height, width, colours).

    The sides of a batch are longer: in (N, C, H, W), a W of 3 or 4 is what small maps have, whose H is not much more.
    """
    if has_colours(shape):
        return 0, 1
    if len(shape) == 4 and has_colours(shape[1:]) and min(shape[1:3]) >= TIMES_AS_LONG_AS_COLOURS * shape[3]:
        return 1, 2
    return None

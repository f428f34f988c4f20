"""Which arrays look like a picture whose last axis are its colours.

A window on the last two axes of such an array runs over the colours, which is seldom meant.
"""

from __future__ import annotations

CHANNELS = (3, 4)  # RGB, and RGBA or CMYK
LEAST_SIDE = 8
MOST_TIMES_LONGER = 8


def has_colours(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape is most likely one picture, (height, width, colours).

    Both sides are clearly longer than the last axis, and neither is many times as long as the other: a table of 3 or 4
    columns per record, and planes of few columns per channel, are not pictures. Four axes are no picture either:
    (N, C, H, W) with a width of 4 could not be told from (N, H, W, C).
    """
    if len(shape) != 3 or shape[2] not in CHANNELS:
        return False
    short, long = sorted(shape[:2])
    return short >= LEAST_SIDE and long <= MOST_TIMES_LONGER * short

"""The call in Python, and in other libraries where it means the same there.

``common.py`` has what they share, ``own.py`` cenote's own call, the others a library each: ``write`` gives a program
that leaves its result in ``y``, or raises :class:`~.common.Different` with the reason why there is none.
"""

from .listing import equivalents
from .own import call as own_call

__all__ = ["equivalents", "own_call"]

"""What to write instead: the answer to a word of another library, and to the likeliest mistakes.

Only a call that has failed comes here, so nothing of it is imported before.

Where the right call is known, a message ends with it, after ``write``: it works if it is followed. Where it is not, the
message says so in words.
"""

from .calls import explain, wrong_call, wrong_option
from .colours import warn_of_colours
from .labelled import by_dimension, by_keyword
from .names import missing_tensor_attribute, no_such_name
from .reductions import reduction_name
from .refusals import advise, as_explained, drawn

__all__ = [
    "advise",
    "as_explained",
    "by_dimension",
    "by_keyword",
    "drawn",
    "explain",
    "missing_tensor_attribute",
    "no_such_name",
    "reduction_name",
    "warn_of_colours",
    "wrong_call",
    "wrong_option",
]

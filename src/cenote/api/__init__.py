"""What users call. The families are imported in the order in which messages list them."""

from . import pooling, sums, norms, order, adaptive, convolution, filtering, fold, unpooling  # noqa: F401, I001

"""Other systems' pooling and convolution under their own names, with their signatures, defaults, layouts and values.

>>> import numpy as np
>>> from cenote.dialects import flax, nabla
>>> x = np.arange(16.0).reshape(1, 4, 4, 1)
>>> flax.max_pool(x, (2, 2)).shape  # flax moves a window by one cell
(1, 3, 3, 1)
>>> nabla.max_pool2d(x, kernel_size=2).shape  # nabla by its size
(1, 2, 2, 1)

They take NumPy arrays and Tensors, and give back what they were given. Import the one that is needed: each is a module
of its own, and none is loaded with ``cenote``. Where a system is known to be wrong, and in the kind of exception, the
rules of ``cenote`` hold; each module says where that is.
"""

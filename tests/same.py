"""What is the same to the last bit."""

import numpy as np


def equal(one, other):
    one, other = one.state_dict(), other.state_dict()
    return all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one.keys() | other.keys()
    )

# SPDX-License-Identifier: BSD-3-Clause
"""npy_file - what np.save() writes"""
import io
import warnings

import numpy as np


def npy_bytes(array, **kwargs):
    out = io.BytesIO()
    with warnings.catch_warnings():
        # Field names beyond latin-1 need a newer format.
        warnings.simplefilter("ignore")
        np.save(out, array, **kwargs)
    return out.getvalue()

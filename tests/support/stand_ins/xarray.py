# SPDX-License-Identifier: BSD-3-Clause
"""xarray - stands in for xarray where it is not installed, with the part that
docs/recipes.md uses"""


class DataArray:
    def __init__(self, values, dims):
        self.values = values
        self.dims = tuple(dims)

    def isel(self, **slices):
        index = tuple(slices.get(dim, slice(None)) for dim in self.dims)
        return DataArray(self.values[index], self.dims)

    def mean(self, dim):
        axis = self.dims.index(dim)
        return DataArray(self.values.mean(axis=axis),
                         self.dims[:axis] + self.dims[axis + 1:])

/* SPDX-License-Identifier: BSD-3-Clause */
/* npy_look.c - can a file be kept as an array? */
#include "array/b2nd.h"
#include "array/npy.h"
#include "b2frame/create.h"
#include "frame/layout_index.h"

_Static_assert(B2F_NPY_HEADER_MAX == B2F_NPY_MAX_SIZE,
	       "the public bound is that of the parser");

/* Is such an array possible? Plans it as layout_index.c will do. */
static int try_plan(const struct b2f_settings *settings,
		    const struct b2f_npy *npy)
{
	uint64_t bytes = npy->itemsize;
	struct b2f_array array;
	int err;

	if (npy->fortran_order || settings->chunksize <= 0)
		return B2F_EUNSUPPORTED;
	if (bytes < (uint64_t)settings->chunksize)
		bytes = (uint64_t)settings->chunksize;
	err = b2f_array_plan(npy->ndim, npy->shape, npy->itemsize, bytes, bytes,
			     &array);
	if (err || b2f_layout_exceeds(npy, &array, (uint32_t)settings->chunksize,
				    B2F_LAYOUT_NCHUNKS_MAX))
		return B2F_EUNSUPPORTED;
	return 0;
}

int b2f_npy_look(const struct b2f_settings *settings, const void *data,
		 size_t size, uint64_t *nbytes)
{
	struct b2f_npy npy;
	int err = b2f_npy_parse(data, size, &npy);

	if (err)
		return err == -ENOMEM ? err : B2F_EUNSUPPORTED;
	err = try_plan(settings, &npy);
	if (!err)
		*nbytes = npy.size + npy.nbytes;
	b2f_npy_fini(&npy);
	return err;
}

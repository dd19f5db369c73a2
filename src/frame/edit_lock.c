/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_lock.c - other programs wait while an edit writes */
#include "frame/edit_lock.h"

int b2f_edit_lock_out(struct b2f_edit *edit, uint32_t wait_ms,
		      struct b2f_why *why)
{
	int err = 0;

	/* Without time to wait, nor for another thread that does. */
	if (wait_ms)
		pthread_mutex_lock(&edit->lock_mutex);
	else if (pthread_mutex_trylock(&edit->lock_mutex))
		return -EAGAIN;
	if (edit->lock && edit->nlocked == 0)
		err = b2f_lock_acquire(edit->lock, wait_ms, why);
	edit->nlocked += !err;
	pthread_mutex_unlock(&edit->lock_mutex);
	return err;
}

void b2f_edit_let_in(struct b2f_edit *edit)
{
	pthread_mutex_lock(&edit->lock_mutex);
	if (--edit->nlocked == 0 && edit->lock)
		b2f_lock_release(edit->lock);
	pthread_mutex_unlock(&edit->lock_mutex);
}

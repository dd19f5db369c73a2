/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_end.c - what the last writer of a contiguous frame leaves */
#include "frame/edit_compact.h"
#include "frame/edit_disk.h"
#include "frame/edit_lock.h"
#include "frame/edit_single.h"

/* Ends the file where the frame ends, with the mtime of what is committed. */
static void cut(struct b2f_edit *edit)
{
	struct b2f_object object = {.store = edit->store, .fd = -1};
	struct stat st;
	int err = 0;

	if (b2f_store_stat_index(edit->store, &st) ||
	    ((uint64_t)st.st_size <= edit->disk->frame_len &&
	     !edit->disk->is_claimed))
		return;
	/* The header of a longer frame may be the one that the disk has. */
	if (b2f_durability_get(edit->durability) == B2F_DISK_NEW)
		err = b2f_object_write_out(&object, NULL);
	if (err)
		b2f_durability_fail(edit->durability);
	/* If that fails, the next writer tries again. */
	else
		(void)!b2f_store_cut(edit->store, edit->disk->frame_len, NULL);
}

/* Gives back what only frames before, or none, had. */
static void give_back(struct b2f_edit *edit)
{
	const struct b2f_retirees *r = &edit->retired;

	for (size_t i = 0; i < r->n; i++)
		(void)!b2f_store_remove(edit->store,
					(int64_t)r->files[i].number, NULL);
	for (size_t i = 0; i < edit->dead.n; i++)
		(void)!b2f_store_remove(edit->store,
					b2f_edit_id(edit->dead.ids[i]), NULL);
}

/* Does b2f_edit_lock_out() keep all other programs out? */
static bool is_alone(const struct b2f_edit *edit)
{
	return edit->lock || !b2f_lock_has_place(edit->store);
}

/* May chunks move now, though a program that uses no locks may begin to write? */
static bool may_move(const struct b2f_edit *edit)
{
	return is_alone(edit) &&
	       b2f_edit_state_equal(&edit->working, &edit->committed);
}

/* A frame that survives a loss of power: no older one comes back. */
static void end_durable(struct b2f_edit *edit)
{
	int err = 0;

	give_back(edit);
	if (may_move(edit))
		err = b2f_edit_compact(edit);
	if (!err)
		cut(edit);
}

void b2f_edit_single_end(struct b2f_edit *edit)
{
	enum b2f_durable_state state = b2f_durability_get(edit->durability);

	if (!edit->disk || (edit->ends_late && !is_alone(edit)) ||
	    b2f_edit_lock_out(edit, 0, NULL))
		return;
	if (b2f_edit_disk_has_changed(edit) == 0) {
		if (state == B2F_DISK_DURABLE)
			end_durable(edit);
		/* After a loss of power the frame before may be there, longer. */
		else if (state == B2F_DISK_NEW)
			cut(edit);
	}
	b2f_edit_let_in(edit);
}

void b2f_edit_single_cut(struct b2f_edit *edit)
{
	enum b2f_durable_state state = b2f_durability_get(edit->durability);

	if ((state != B2F_DISK_DURABLE && state != B2F_DISK_NEW) ||
	    b2f_edit_lock_out(edit, 0, NULL))
		return;
	if (b2f_edit_disk_has_changed(edit) == 0)
		cut(edit);
	b2f_edit_let_in(edit);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep.c - what writers that did not end properly left in a frame */
#include <string.h>

#include "b2frame/convert.h"
#include "b2frame/repair.h"
#include "frame/txn_ids.h"
#include "frame/txn_priv.h"
#include "frame/txn_remove.h"
#include "frame/frame_hold.h"
#include "frame/frame_report.h"
#include "store/write.h"

struct sweep {
	struct b2f_frame *frame;
	enum b2f_sweep how;
	struct b2f_ids used;
	/* Files to be removed; an index is not among them. */
	struct b2f_ids unused;
	struct b2f_leftovers found;
};

static int visit(void *arg, int64_t id)
{
	struct sweep *s = arg;
	struct b2f_frame_stamp identity;
	bool sure;

	if (id >= 0 && b2f_ids_has_sorted(&s->used, (uint64_t)id))
		return 0;
	if (b2f_store_identify(s->frame->store, id, &identity) == 0)
		s->found.nbytes += identity.size;
	if (id < 0) {
		s->found.nindexes++;
		return 0;
	}
	sure = b2f_txn_is_leftover(s->frame->store, id);
	if (sure)
		s->found.nsure++;
	else
		s->found.nyoung++;
	if (s->how == B2F_SWEEP_ALL || (s->how == B2F_SWEEP_SURE && sure))
		return b2f_ids_add(&s->unused, (uint64_t)id);
	return 0;
}

static int remove_found(const struct sweep *s, struct b2f_why *why)
{
	struct b2f_store *store = s->frame->store;
	int err = 0;

	if (s->how == B2F_SWEEP_LOOK)
		return 0;
	if (s->found.nindexes)
		err = b2f_store_remove(store, B2F_OBJECT_NEW_INDEX, why);
	for (size_t i = 0; i < s->unused.n && !err; i++) {
		int64_t id = (int64_t)s->unused.ids[i];

		err = s->how == B2F_SWEEP_ALL
			      ? b2f_store_remove(store, id, why)
			      : b2f_txn_remove_leftover(store, id, why);
	}
	return err;
}

/* Numbers of files that the index names; twice is once. */
static int list_used(struct sweep *s, struct b2f_why *why)
{
	struct b2f_txn_state state;
	int err;

	err = b2f_txn_state_of(s->frame, &state);
	if (err)
		return err;
	err = b2f_txn_used_ids(&state, &s->used);
	b2f_txn_state_fini(&state);
	if (err == B2F_EUNSUPPORTED)
		b2f_why_set(why, err, "two of its chunks are in one file");
	return err;
}

static int sweep(struct sweep *s, struct b2f_why *why)
{
	int err;

	err = list_used(s, why);
	if (!err)
		err = b2f_store_list(s->frame->store, visit, s);
	if (!err)
		err = remove_found(s, why);
	return err;
}

bool b2f_frame_suits_stock(const struct b2f_frame *frame)
{
	const struct b2f_entries *e = &frame->entries;
	uint64_t n = e->raw ? e->n : e->n > 0;

	return !frame->store->sparse ||
	       b2f_index_margin(e->raw ? e->raw : &e->same, n) <=
		       frame->header.cbytes;
}

int b2f_frame_sweep(struct b2f_frame *frame, enum b2f_sweep how,
		    struct b2f_leftovers *out)
{
	struct sweep s = {.frame = frame, .how = how};
	struct b2f_why why = {""};
	int err;

	if (!frame->store->sparse) {
		b2f_why_set(&why, -EROFS,
			    "a contiguous frame has no leftovers");
		return b2f_frame_report(frame, -EROFS, &why);
	}
	/* A program that is writing may need what looks like a leftover. */
	err = how == B2F_SWEEP_LOOK ? b2f_frame_hold_to_look(frame)
				    : b2f_frame_hold(frame);
	if (err)
		return err;
	err = sweep(&s, &why);
	b2f_frame_let_in(frame);
	b2f_ids_fini(&s.used);
	b2f_ids_fini(&s.unused);
	if (err)
		return b2f_frame_report(frame, err, &why);
	*out = s.found;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_sweep.c - chunk objects that no index names */
#include <stdlib.h>
#include <time.h>

#include "frame/frame.h"
#include "frame/txn_ids.h"
#include "remote/remote_store.h"
#include "remote/sweeper.h"

/* A chunk object that was listed. */
struct found {
	uint64_t id;
	uint64_t size;
	int64_t mtime;
};

struct sweep {
	struct found *found;
	size_t n;
	size_t room;
	/* There is something else. */
	bool has_other;
};

static int note_chunk(void *arg, const struct b2f_remote_entry *entry)
{
	struct sweep *s = arg;
	struct found *more;
	int64_t id;

	if (entry->is_dir || !b2f_remote_parse_chunk(entry->name, &id)) {
		s->has_other = true;
		return 0;
	}
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		more = realloc(s->found, s->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->found = more;
	}
	s->found[s->n++] = (struct found){
		(uint64_t)id, entry->st.size, entry->st.mtime};
	return 0;
}

/* Lists in @old what is to go of what was found. */
static int choose(const struct sweep *s, const struct b2f_ids *used,
		  int64_t until, struct b2f_ids *old,
		  struct b2f_remote_orphans *out)
{
	int err = 0;

	for (size_t i = 0; i < s->n && !err; i++) {
		const struct found *f = &s->found[i];

		if (b2f_ids_has_sorted(used, f->id))
			continue;
		if (f->mtime == 0 || f->mtime > until) {
			out->nyoung++;
			continue;
		}
		out->n++;
		out->nbytes += f->size;
		err = b2f_ids_add(old, f->id);
	}
	return err;
}

static int remove_all(struct b2f_remote *remote, const char *path,
		      const struct b2f_ids *old)
{
	struct b2f_remote_place *place = NULL;
	const struct b2f_sweep what = {.ids = old};
	struct b2f_why why = {""};
	int err = b2f_remote_place_new(remote, path, true, &place);

	if (!err)
		err = b2f_sweeper_remove(place, &what, &why);
	b2f_remote_place_unref(place);
	return b2f_remote_report(remote, path, err, &why);
}

/* Chunks alone are what is left of a frame that was removed, or never committed. */
static int look_for_index(struct b2f_remote *remote, const char *path)
{
	char *index = b2f_remote_join(path, B2F_INDEX_NAME);
	struct b2f_remote_stat now;
	struct b2f_why why = {""};
	int err = index ? b2f_remote_head(remote, index, &now, NULL, &why)
			: -ENOMEM;

	err = b2f_remote_report(remote, path, err, &why);
	free(index);
	return err;
}

/* What the index at @path names, beside which @s was found; nothing if there is none. */
static int list_used(struct b2f_remote *remote, const char *path,
		     const struct sweep *s, bool *is_sparse,
		     struct b2f_ids *used)
{
	const struct b2f_frame_options options = {.log = remote->log};
	struct b2f_frame *frame = NULL;
	int err = s->n && !s->has_other ? look_for_index(remote, path) : 0;

	if (err == -ENOENT)
		return 0;
	if (!err)
		err = b2f_remote_open_frame(remote, path, &options, &frame);
	if (err)
		return err;
	*is_sparse = frame->store->sparse;
	err = b2f_txn_frame_ids(frame, used);
	b2f_frame_close(frame);
	return err;
}

/*
 * The listing comes first: what is named since, the index tells that is read after it.
 */
int b2f_remote_sweep(struct b2f_remote *remote, const char *path,
		     uint64_t older_s, bool dry_run,
		     struct b2f_remote_orphans *out)
{
	int64_t until = time(NULL) - (int64_t)older_s;
	struct b2f_ids used = {0}, old = {0};
	struct sweep s = {.n = 0};
	bool is_sparse = true;
	int err = dry_run ? 0 : b2f_remote_allow_write(remote, path);

	*out = (struct b2f_remote_orphans){.n = 0};
	if (!err)
		err = b2f_remote_list(remote, path, note_chunk, &s);
	if (!err)
		err = list_used(remote, path, &s, &is_sparse, &used);
	if (!err && is_sparse)
		err = choose(&s, &used, until, &old, out);
	if (!err && !dry_run)
		err = remove_all(remote, path, &old);
	b2f_ids_fini(&used);
	b2f_ids_fini(&old);
	free(s.found);
	return err;
}

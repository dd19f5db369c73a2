/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_sweep.c - orphans (unnamed chunk objects), leftover probes, flags */
#include <argz.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "frame/frame.h"
#include "remote/conditions.h"
#include "remote/sweeper.h"
#include "txn/txn_ids.h"

/* A chunk object that was listed. */
struct found {
	uint64_t id;
	uint64_t size;
	int64_t mtime;
};

/* The parameters of the sweep, and the contents of the current directory. */
struct sweep {
	struct b2f_remote *remote;
	int64_t until;
	bool dry_run;
	struct found *found;
	size_t n;
	size_t room;
	/* Names, each an argz(3). */
	char *probes;
	size_t nprobes;
	char *dirs;
	size_t ndirs;
	/* There are other objects, or directories. */
	bool has_other;
};

/* Clears the contents. */
static void forget_found(struct sweep *s)
{
	free(s->found);
	free(s->probes);
	free(s->dirs);
	s->found = NULL;
	s->probes = s->dirs = NULL;
	s->n = s->room = s->nprobes = s->ndirs = 0;
	s->has_other = false;
}

static bool is_old(const struct sweep *s, int64_t mtime)
{
	return mtime != 0 && mtime <= s->until;
}

static int note_other(struct sweep *s, const struct b2f_remote_entry *entry)
{
	if (b2f_sweeper_is_flag(entry) ||
	    (!entry->is_dir && b2f_remote_is_probe(entry->name)))
		return is_old(s, entry->st.mtime)
			       ? -argz_add(&s->probes, &s->nprobes, entry->name)
			       : 0;
	s->has_other = true;
	/* A directory without a name cannot be addressed. */
	return entry->is_dir && *entry->name
		       ? -argz_add(&s->dirs, &s->ndirs, entry->name)
		       : 0;
}

static int note_chunk(void *arg, const struct b2f_remote_entry *entry)
{
	struct sweep *s = arg;
	struct found *more;
	int64_t id;

	if (entry->is_dir || !b2f_remote_parse_chunk(entry->name, &id))
		return note_other(s, entry);
	more = b2f_grown(s->found, &s->room, s->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->found = more;
	s->found[s->n++] = (struct found){
		(uint64_t)id, entry->st.size, entry->st.mtime};
	return 0;
}

/* Lists in @old the chunks that are to be removed. */
static int choose(const struct sweep *s, const struct b2f_ids *used,
		  struct b2f_ids *old, struct b2f_remote_orphans *out)
{
	int err = 0;

	for (size_t i = 0; i < s->n && !err; i++) {
		const struct found *f = &s->found[i];

		if (b2f_ids_has_sorted(used, f->id))
			continue;
		if (!is_old(s, f->mtime)) {
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
	struct b2f_remote_remains what = {.chunks = *old};
	struct b2f_why why = {""};
	int err = b2f_remote_place_new(remote, path, true, &what.place);

	if (!err)
		err = b2f_sweeper_remove(&what, &why);
	b2f_remote_place_unref(what.place);
	return b2f_remote_report(remote, path, err, &why);
}

/* Leftovers without an index: the frame was removed or never committed. */
static int look_for_index(struct b2f_remote *remote, const char *path)
{
	struct b2f_remote_stat now;
	struct b2f_why why = {""};
	int err = b2f_remote_head_index(remote, path, &now, &why);

	return b2f_remote_report(remote, path, err, &why);
}

/*
 * Lists the chunks that the index at @path names, where @s was listed; empty
 * without an index.
 */
static int list_used(struct b2f_remote *remote, const char *path,
		     const struct sweep *s, bool *is_sparse,
		     struct b2f_ids *used)
{
	const struct b2f_frame_options options = {.log = remote->log};
	struct b2f_frame *frame = NULL;
	bool has_left = (s->n || s->probes) && !s->has_other;
	int err = has_left ? look_for_index(remote, path) : 0;

	if (err == -ENOENT)
		return 0;
	if (!err)
		err = b2f_remote_open_frame(remote, path, &options, &frame);
	if (err)
		return err;
	*is_sparse = b2f_store_is_sparse(frame->store);
	err = b2f_txn_frame_ids(frame, used);
	b2f_frame_close(frame);
	return err;
}

static void remove_probes(const struct sweep *s, const char *path)
{
	const char *name = NULL;

	while (!s->dry_run && (name = argz_next(s->probes, s->nprobes, name))) {
		B2F_OWN char *probe = b2f_remote_join(path, name);

		b2f_remote_tidy(s->remote, b2f_url_of(&s->remote->url, probe));
	}
}

/* Sweeps the contents of @path, which has chunks, or must be a frame. */
static int sweep_chunks(const struct sweep *s, const char *path,
			struct b2f_remote_orphans *out)
{
	struct b2f_ids used = {0}, old = {0};
	bool is_sparse = true;
	int err = list_used(s->remote, path, s, &is_sparse, &used);

	if (!err && is_sparse)
		err = choose(s, &used, &old, out);
	if (!err && !s->dry_run)
		err = remove_all(s->remote, path, &old);
	b2f_ids_fini(&used);
	b2f_ids_fini(&old);
	return err;
}

/* List the chunks before the index is read: it names those committed since. */
int b2f_remote_sweep(struct b2f_remote *remote, const char *path,
		     uint64_t older_s, bool dry_run,
		     struct b2f_remote_orphans *out)
{
	struct sweep s = {.remote = remote,
			  .until = time(NULL) - (int64_t)older_s,
			  .dry_run = dry_run};
	int err = dry_run ? 0 : b2f_remote_allow_write(remote, path);

	*out = (struct b2f_remote_orphans){.n = 0};
	if (!err)
		err = b2f_remote_list(remote, path, note_chunk, &s);
	if (!err)
		err = sweep_chunks(&s, path, out);
	if (!err) {
		out->nprobes = argz_count(s.probes, s.nprobes);
		remove_probes(&s, path);
	}
	forget_found(&s);
	return err;
}

/* Sweeps any directory; moves the names of its directories to *@dirs. */
static int sweep_directory(struct sweep *s, const char *path, char **dirs,
			   size_t *ndirs, struct b2f_remote_orphans *out)
{
	int err = b2f_remote_list(s->remote, path, note_chunk, s);

	out->nprobes = argz_count(s->probes, s->nprobes);
	remove_probes(s, path);
	if (!err && s->n)
		err = sweep_chunks(s, path, out);
	/* Among other objects, names like those of chunks mean nothing. */
	if (err == -ENOENT && s->n)
		err = 0;
	*dirs = s->dirs;
	*ndirs = s->ndirs;
	s->dirs = NULL;
	forget_found(s);
	return err;
}

/* The length of keys limits the depth. */
static int sweep_below(struct sweep *s, const char *path,
		       b2f_remote_orphans_fn *fn, void *arg)
{
	struct b2f_remote_orphans found = {.n = 0};
	B2F_OWN char *dirs = NULL;
	const char *name = NULL;
	size_t ndirs = 0;
	int err = sweep_directory(s, path, &dirs, &ndirs, &found), first = err;

	if (found.n || found.nyoung || found.nprobes)
		fn(arg, path, &found);
	while ((name = argz_next(dirs, ndirs, name))) {
		B2F_OWN char *dir = b2f_remote_join(path, name);

		err = dir ? sweep_below(s, dir, fn, arg) : -ENOMEM;
		first = first ? first : err;
	}
	return first;
}

int b2f_remote_sweep_below(struct b2f_remote *remote, const char *path,
			   uint64_t older_s, bool dry_run,
			   b2f_remote_orphans_fn *fn, void *arg)
{
	struct sweep s = {.remote = remote,
			  .until = time(NULL) - (int64_t)older_s,
			  .dry_run = dry_run};
	int err = dry_run ? 0 : b2f_remote_allow_write(remote, path);

	return err ? err : sweep_below(&s, path, fn, arg);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_rename.c - renamed frames, whose chunks the server copies
 *
 *   1  the server copies the chunks to the new path, where no index names them,
 *      with ids that no other writer takes
 *   2  PUT of the index at the new path: the frame appears there
 *   3  DELETE of the index at the old path: the frame disappears here
 *   4  the caller removes the leftover chunks of both paths
 *
 * Before 2 nothing has changed for readers, between 2 and 3 both paths have the
 * frame.  A kill leaves orphans.
 */
#include "remote/sweeper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "make/sink.h"
#include "remote/put.h"
#include "remote/remote_store.h"
#include "remote/s3_error.h"
#include "txn/txn.h"

/* Distance from the ids that another writer would take at the same time. */
#define APART 4096

/* Limit of attempts if the frame at the new path keeps changing. */
#define TRIES 10

#define OTHERS "other programs keep changing it"

struct renaming {
	struct b2f_frame *frame;
	struct b2f_remote_place *from;
	struct b2f_remote_place *to;
	/* NULL: it must not replace a frame. */
	const struct b2f_replace *replace;
	/* This program reads the frame that was replaced. */
	bool keeps;
	struct b2f_copy_list list;
	/* The frame to replace, as last seen. */
	struct b2f_current there;
	bool looked;
	/*
	 * The frame to replace has been removed: the program that did so may
	 * remove all chunks that it found there, including the copies.
	 */
	bool lost;
	/* No chunk of the new path has had this id or a higher one. */
	uint64_t next;
	/* The new index has been written. */
	bool is_there;
	struct b2f_remote_stat now;
	uint64_t mark;
};

static int end_copy(void *renaming, size_t i,
		    const struct b2f_http_reply *reply, struct b2f_why *why)
{
	struct b2f_s3_answer ok;

	(void)renaming;
	(void)i;
	return reply->err
		       ? reply->err
		       : b2f_s3_confirm((const char *)reply->body, reply->size,
					"CopyObjectResult", &ok, why);
}

/* Begins to copy chunk @i, which replaces an existing object. */
static int start_copy(void *renaming, size_t i, struct b2f_http_request **out)
{
	const struct renaming *m = renaming;
	const struct b2f_copy_chunk *chunk = &m->list.chunks[i];
	struct b2f_remote *remote = m->to->remote;
	B2F_OWN char *old =
		b2f_remote_place_path(m->from, (int64_t)chunk->from);
	B2F_OWN char *source = old ? b2f_url_source(&remote->url, old) : NULL;
	struct b2f_http_spec ask = {.method = B2F_HTTP_PUT,
				    .copy_from = source};

	if (!source)
		return -ENOMEM;
	return b2f_remote_start(remote, &ask,
				b2f_remote_place_url(m->to, (int64_t)chunk->to),
				out);
}

/*
 * Draws ids for the copies that no chunk at the new path has or has had.
 * Returns 0, -EXDEV (the chunks must keep their ids, but there are, or have
 * been, chunks) or an error of requests.
 *
 * Not all servers honour conditions when they copy, so no copy may get the id
 * of another writer's chunk, present or future.  A seal without a tag depends
 * on the chunk's id; chunks that may have such a seal keep their ids.
 */
static int draw_numbers(struct renaming *m, struct b2f_why *why)
{
	struct b2f_copy_list *list = &m->list;
	uint64_t next = b2f_max_u64(m->next, m->there.note.next_id), above;
	bool tagged = true;
	int err = b2f_remote_raise_id(m->to, &next, why);

	above = next + APART + b2f_note_draw() % APART;
	for (size_t i = 0; i < list->n; i++)
		tagged = tagged && b2f_entry_tag(list->chunks[i].raw);
	tagged = tagged && above + list->n <= B2F_ENTRY_ID;
	if (err)
		return err;
	if (!tagged && next)
		return b2f_why_set(why, -EXDEV,
				   "its chunks cannot be renumbered, and there "
				   "are other chunks already");
	for (size_t i = 0; i < list->n; i++) {
		list->chunks[i].to = tagged ? above + i : list->chunks[i].from;
		m->next = b2f_max_u64(m->next, list->chunks[i].to + 1);
	}
	return 0;
}

static int see_other(void *arg, int64_t id)
{
	const uint64_t *mine = arg;

	return (uint64_t)id != *mine;
}

/*
 * Another rename may have drawn some of the same ids.  Each puts an object with
 * its last id, and then looks for others: the one that finds none goes on, and
 * its object keeps all others above its ids.  Returns -EAGAIN if there is one.
 */
static int claim_numbers(const struct renaming *m, struct b2f_why *why)
{
	const struct b2f_copy_list *list = &m->list;
	uint64_t last;
	B2F_OWN char *path = NULL;
	int err;

	if (!list->n)
		return 0;
	last = list->chunks[list->n - 1].to;
	path = b2f_remote_place_path(m->to, (int64_t)last);
	err = b2f_put_sign(m->to->remote, path, why);
	if (!err) {
		err = b2f_remote_list_chunks(m->to, list->chunks[0].to,
					     see_other, &last, NULL, why);
		/* It is ours: nobody else could put it. */
		if (err)
			b2f_remote_tidy(
				m->to->remote,
				b2f_remote_place_url(m->to, (int64_t)last));
	}
	return err == -EEXIST || err > 0 ? -EAGAIN : err;
}

static int choose_numbers(struct renaming *m, struct b2f_why *why)
{
	int err = -EAGAIN;

	for (unsigned int try = 0; try < TRIES && err == -EAGAIN; try++) {
		err = draw_numbers(m, why);
		if (!err)
			err = claim_numbers(m, why);
	}
	return err == -EAGAIN ? b2f_why_set(why, -EBUSY, OTHERS) : err;
}

/* Is the frame to be renamed unchanged? 0, -ESTALE or another error. */
static int check_source(const struct renaming *m, struct b2f_why *why)
{
	struct b2f_frame_stamp stamp;
	struct b2f_remote_stat now;
	int err = b2f_remote_place_look(m->from, 0, &now);

	if (err && err != -ENOENT)
		return err;
	stamp = b2f_remote_stamp(&now);
	if (!err && b2f_frame_stamp_equal(&stamp, &m->frame->stamp))
		return 0;
	return b2f_why_set(why, -ESTALE,
			   "another program has changed it meanwhile");
}

/*
 * Has the server copy the chunks; no index names the copies.  After an error
 * some of them may be there.
 */
static int copy_chunks(struct renaming *m, struct b2f_why *why)
{
	int err = b2f_http_row(m->list.n, B2F_HTTP_ROW_MAX, start_copy,
			       end_copy, m, why);
	int now;

	if (err != -ENOENT)
		return err;
	/* Chunks disappear when the index is replaced. */
	now = check_source(m, why);
	return now ? now : b2f_why_set(why, B2F_ECORRUPT, "a chunk is missing");
}

/* Is @now the same version as @before, or one that follows it? */
static bool follows(const struct b2f_current *now,
		    const struct b2f_current *before)
{
	if (!before->is_there)
		return true;
	return now->is_there &&
	       (strcmp(now->version.etag, before->version.etag) == 0 ||
		(before->note.nmarks &&
		 b2f_note_has(&now->note, before->note.marks[0])));
}

/* Looks at the new path; -EEXIST, or -EAGAIN if it has changed. */
static int look(struct renaming *m, struct b2f_why *why)
{
	const struct b2f_current before = m->there;
	int err = b2f_current_read(m->to, &m->there, why);

	if (!err && !follows(&m->there, &before)) {
		m->lost = true;
		return -EAGAIN;
	}
	if (!err && m->there.is_there && !m->replace)
		return -EEXIST;
	m->looked = !err;
	return err;
}

static int by_new_number(const void *key, const void *member)
{
	const uint64_t *id = key;
	const struct b2f_copy_chunk *chunk = member;

	return (*id > chunk->to) - (*id < chunk->to);
}

/* Is chunk @id of the new path a copy? Ids of copies are sorted. */
static bool is_copy(const struct renaming *m, uint64_t id)
{
	return m->list.n && bsearch(&id, m->list.chunks, m->list.n,
				    sizeof(*m->list.chunks), by_new_number);
}

/* Lists the chunks of the replaced index. */
static int list_gone(const struct renaming *m, struct b2f_ids *out)
{
	const struct b2f_ids *ids = &m->there.named;
	int err = 0;

	for (size_t i = 0; i < ids->n && !err; i++)
		if (!is_copy(m, ids->ids[i]))
			err = b2f_ids_add(out, ids->ids[i]);
	return err;
}

static int tell_gone(const struct renaming *m, char text[B2F_GONE_SIZE])
{
	uint64_t since_s =
		(uint64_t)time(NULL) + (m->keeps ? B2F_GONE_LATER_S : 0);
	struct b2f_ids gone = {0};
	int err = list_gone(m, &gone);

	if (!err)
		err = b2f_gone_write(&m->there.gone, &gone, since_s, text,
				     B2F_GONE_SIZE);
	b2f_ids_fini(&gone);
	return err;
}

/* Puts the index at the new path, replacing the one there. */
static int put_index(struct renaming *m, const uint8_t *index, size_t size,
		     struct b2f_why *why)
{
	B2F_OWN char *path = b2f_remote_place_path(m->to, B2F_OBJECT_INDEX);
	char gone[B2F_GONE_SIZE];
	struct b2f_put_spec spec = {
		.path = path,
		.gone = gone,
		.data = index,
		.size = size,
		.replaces = m->there.is_there ? &m->there.version : NULL,
	};
	struct b2f_put put;
	int err;

	m->keeps = m->there.is_there && m->replace->is_read &&
		   m->replace->is_read(m->replace->arg);
	err = tell_gone(m, gone);
	b2f_note_follow(&spec.note, &m->there.note, b2f_note_draw());
	spec.note.next_id = b2f_max_u64(spec.note.next_id, m->next);
	if (!err)
		err = b2f_put_start(m->to->remote, &spec, &put);
	if (err)
		return err;
	err = b2f_put_wait(&put, why);
	m->is_there = !err;
	m->mark = spec.note.marks[0];
	/* If other writers have replaced it since, its version is not known. */
	if (put.now_note.marks[0] == m->mark)
		m->now = put.now;
	b2f_put_fini(&put);
	return err;
}

/* Returns -EAGAIN if the frame at the new path has changed. */
static int try_install(struct renaming *m, const uint8_t *index, size_t size,
		       struct b2f_why *why)
{
	int err = m->looked ? 0 : look(m, why);

	if (!err)
		err = check_source(m, why);
	if (err)
		return err;
	err = put_index(m, index, size, why);
	m->looked = false;
	return err == -EEXIST || err == -ESTALE ? -EAGAIN : err;
}

/* The last of several simultaneous renames wins. */
static int install(struct renaming *m, struct b2f_why *why)
{
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = b2f_copy_index(m->frame, &m->list, &index, &size);

	if (!err)
		err = try_install(m, index, size, why);
	for (unsigned int i = 1; i < TRIES && err == -EAGAIN && !m->lost; i++) {
		b2f_put_pause(m->to->remote, i);
		err = try_install(m, index, size, why);
	}
	return err == -EAGAIN && !m->lost ? b2f_why_set(why, -EBUSY, OTHERS)
					  : err;
}

/*
 * Removes the copies, which no index will name.  A chunk that kept its old id
 * may be another writer's.
 */
static void remove_copies(const struct renaming *m)
{
	struct b2f_remote_remains copies = {.place = m->to};
	int err = 0;

	for (size_t i = 0; i < m->list.n && !err; i++)
		if (m->list.chunks[i].to != m->list.chunks[i].from)
			err = b2f_ids_add(&copies.chunks, m->list.chunks[i].to);
	/* Ignore errors: orphans do no harm. */
	if (!err)
		(void)!b2f_sweeper_remove(&copies, NULL);
	b2f_sweeper_fini(m->to);
	b2f_ids_fini(&copies.chunks);
}

static int try_copy(struct renaming *m, struct b2f_why *why)
{
	int err = look(m, why);

	m->lost = false;
	if (!err || err == -EAGAIN)
		err = choose_numbers(m, why);
	if (err)
		return err;
	err = copy_chunks(m, why);
	if (!err)
		err = install(m, why);
	if (err && err != B2F_EINDOUBT)
		remove_copies(m);
	return err;
}

static int copy_and_install(struct renaming *m, struct b2f_why *why)
{
	int err = b2f_copy_list_make(m->frame, &m->list);

	for (unsigned int try = 0; try < TRIES && !err; try++) {
		err = try_copy(m, why);
		if (err != -EAGAIN || !m->lost)
			return err;
		err = 0;
	}
	return err ? err : b2f_why_set(why, -EBUSY, OTHERS);
}

/*
 * Lists the chunks of the replaced frame.  If the answer to our PUT was lost,
 * another writer may have followed our index: then the list is of that.
 */
static int list_replaced(struct renaming *m, struct b2f_remote_remains **out)
{
	int err = m->there.is_there ? b2f_remains_new(m->to, out) : 0;

	if (err || !*out)
		return err;
	if (m->keeps)
		return b2f_remains_list(*out, &m->there, false, NULL);
	(*out)->mark = m->mark;
	err = list_gone(m, &(*out)->chunks);
	return err ? err : b2f_gone_take_all(&m->there.gone, &(*out)->chunks);
}

static int leave_source(struct renaming *m, struct b2f_remote_remains **out,
			struct b2f_why *why)
{
	int err = b2f_remains_take(m->from, &m->frame->stamp, false, out, why);

	/* Another program has removed the frame: its chunks are not known. */
	return err == -ENOENT ? b2f_remains_new(m->from, out) : err;
}

static int rename_frame(struct renaming *m, struct b2f_remote_renamed *out,
			struct b2f_why *why)
{
	int err = copy_and_install(m, why);

	out->is_there = m->is_there;
	out->now = b2f_remote_stamp(&m->now);
	/* Without memory for the list the chunks stay as orphans. */
	if (!err)
		(void)!list_replaced(m, &out->replaced);
	return err ? err : leave_source(m, &out->from, why);
}

int b2f_remote_rename_frame(struct b2f_remote *remote, struct b2f_frame *frame,
			    const char *to, const struct b2f_replace *replace,
			    struct b2f_remote_renamed *out)
{
	struct renaming m = {.frame = frame, .replace = replace};
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, to);

	*out = (struct b2f_remote_renamed){.from = NULL};
	if (err)
		return err;
	if (!b2f_store_is_sparse(frame->store))
		return b2f_remote_report(remote, to, -EXDEV, &why);
	m.from = b2f_remote_store_place(frame->store);
	if (strcmp(m.from->path, to) == 0)
		return b2f_remote_report(remote, to, -EINVAL, &why);
	err = b2f_remote_place_new(remote, to, true, &m.to);
	if (!err)
		err = b2f_remote_place_fits(m.to);
	if (!err)
		err = rename_frame(&m, out, &why);
	b2f_copy_list_fini(&m.list);
	b2f_current_fini(&m.there);
	b2f_remote_place_unref(m.to);
	return err == -EEXIST ? err : b2f_remote_report(remote, to, err, &why);
}

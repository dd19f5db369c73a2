/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_convert.c - bloscctl convert, recompress: another frame of the same data
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/copy.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/server.h"
#include "cli/target.h"
#include "cli/text.h"

enum storage {
	/* Keep the kind of storage. */
	SAME,
	/* Contiguous for a sparse frame, and the other way round. */
	OTHER,
	SPARSE,
	CONTIGUOUS,
	/* A Bloscpack file, not a frame. */
	BLOSCPACK,
	/* A b2nd array, sparse. */
	ARRAY,
};

typedef int make_fn(struct b2f_runtime *runtime, struct b2f_frame *frame,
		    const struct b2f_convert_options *options, int dirfd,
		    const char *name);

static const struct kind {
	/* The option that asks for it. */
	const char *option;
	enum b2f_suffix suffix;
	bool contiguous;
	make_fn *make;
} kinds[] = {
	[SPARSE] = {"sparse", B2F_SUFFIX_SPARSE, false, b2f_convert_frame},
	[CONTIGUOUS] = {"contiguous", B2F_SUFFIX_CONTIGUOUS, true,
			b2f_convert_frame},
	[BLOSCPACK] = {"bloscpack", B2F_SUFFIX_BLOSCPACK, true,
		       b2f_convert_bloscpack},
	[ARRAY] = {"b2nd", B2F_SUFFIX_ARRAY, false, b2f_convert_array},
};

struct transform {
	struct cli_common common;
	enum storage storage;
	/* For Bloscpack files; see b2f_convert_options. */
	const char *checksum;
	/* Encode all data with these settings; NULL: copy chunks as stored. */
	bool encode;
	struct cli_encoding encoding;
	/* Copy chunks without decoding them. */
	bool no_verify;
};

#define FIELD(name) offsetof(struct transform, name)

static int set_storage(const struct cli_option *option, void *storage,
		       const char *value)
{
	enum storage kind = SPARSE;

	(void)value;
	while (strcmp(kinds[kind].option, option->name) != 0)
		kind++;
	*(enum storage *)storage = kind;
	return 0;
}

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "NAME", cli_option_text, FIELD(common.output),
	 "write to NAME; or into the directory NAME"),
	{.shared = cli_common_recursive},
	CLI_OPTION("contiguous", 0, NULL, set_storage, FIELD(storage),
	 "make contiguous frames, also of contiguous ones"),
	CLI_OPTION("sparse", 0, NULL, set_storage, FIELD(storage),
	 "make sparse frames, also of sparse ones"),
	CLI_OPTION("b2nd", 0, NULL, set_storage, FIELD(storage),
	 "make an array, NAME.b2nd, of a NumPy array in a\n"
	 "Bloscpack file, or of a frame by save_array"),
	CLI_OPTION("bloscpack", 0, NULL, set_storage, FIELD(storage),
	 "make a Bloscpack file, NAME.blp, of the data"),
	{.shared = cli_encoding_checksum, .field = FIELD(checksum)},
	CLI_FLAG("force", 'f', common.force, "overwrite"),
	{.shared = cli_common_removing},
	CLI_FLAG("no-verify", 0, no_verify,
		"copy chunks without decoding them"),
	{.shared = cli_common_frame_offset},
	{.shared = cli_server_reading_options},
	{.shared = cli_common_options},
	{0},
};

/* The advice for frames that cannot be changed. */
#define COPY "; -o names a copy"

/* A frame that is being transformed. */
struct job {
	const struct transform *how;
	const struct cli_operand *operand;
	/* The path of the frame, owned by @operand. */
	const char *path;
	/* The path of the result; malloc'ed. */
	char *output;
	/* The result replaces the frame. */
	bool in_place;
	const struct kind *kind;
	struct b2f_file *file;
	struct b2f_frame *frame;
	struct stat like;
	/* The open index, for xattrs; -1: none. */
	int like_fd;
};

static const struct kind *choose_kind(const struct job *job)
{
	bool sparse = b2f_frame_info_get(job->frame)->sparse;

	if (job->how->storage > OTHER)
		return &kinds[job->how->storage];
	return &kinds[sparse == (job->how->storage == SAME) ? SPARSE
							    : CONTIGUOUS];
}

/* "x" of "x.b2frame/"; then .b2frame, .b2f, .blp or .b2nd. */
static char *usual_name(const struct job *job)
{
	B2F_OWN char *path = cli_text_bare(job->operand->place.path);
	size_t stem = b2f_suffix_stem(path, NULL);

	return cli_need_text("%.*s%s", (int)(stem ? stem : strlen(path)), path,
			     b2f_suffix_text(job->kind->suffix));
}

/* Does the result lie beside the frame, under a name that is derived? */
static bool stays(const struct job *job)
{
	return !job->operand->output && !cli_operand_is_moved(job->operand);
}

/*
 * Warns of two frames in one directory that differ only in their suffixes: a
 * mount shows both by their full names, so that neither hides the other.
 */
static void tell_of_twin(const struct job *job)
{
	B2F_OWN char *path = cli_text_bare(job->operand->place.path);
	size_t stem = b2f_suffix_stem(path, NULL);

	if (stem && !job->in_place && !job->how->common.remove &&
	    !job->how->encode && stays(job))
		cli_message_warning("%s: lies beside %s now: a mount shows "
				    "both by their full names, and none as "
				    "%.*s; --rm would remove the old one",
				    job->output, path, (int)stem, path);
}

/* Gets the result of SAME the name of the frame? */
static bool keeps_name(const struct job *job)
{
	return job->how->storage == SAME && stays(job);
}

static struct cli_at result_of(const struct job *job)
{
	/* Another name of the frame gets the result alone. */
	return keeps_name(job) ? job->operand->at
			       : cli_operand_result(job->operand, job->output);
}

static int choose_output(struct job *job)
{
	const struct cli_operand *operand = job->operand;
	struct cli_at at;

	/* Members of a store, and standard input, have no place beside them. */
	if (stays(job) && cli_at_check_change(&operand->at, COPY))
		return -EROFS;
	job->in_place = keeps_name(job);
	if (operand->output)
		job->output = cli_need_copy(operand->output);
	else if (job->how->storage == SAME)
		job->output = cli_need_copy(operand->place.path);
	else
		job->output = usual_name(job);
	at = result_of(job);
	if (!job->in_place && cli_frames_is(&at, &job->like)) {
		if (!job->how->common.force)
			return cli_refuse(-EEXIST,
					  "%s: it is the frame "
					  "itself; -f replaces it, -o names "
					  "another",
					  job->output);
		job->in_place = true;
	}
	return 0;
}

#define SUFFIX ".b2d"
#define EMBED  "embed.b2e"

/* Is the directory @fd, or one of its parents, named like a store? */
static bool is_called_so(int fd)
{
	char link[40], path[PATH_MAX + 1];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	snprintf(path + (n < 0 ? 0 : n), 2, "/");
	for (const char *at = path; (at = strstr(at, SUFFIX "/")); at++)
		if (at > path && at[-1] != '/')
			return true;
	return false;
}

/* Opens the directory that holds @path; "x/" is x. */
static int open_parent(const char *path)
{
	B2F_OWN char *bare = cli_text_bare(path);
	const char *name;

	return cli_at_open_holder(bare, O_PATH, &name);
}

/*
 * Is @at, which need not exist, below the directory of a store of python-blosc2
 * (DictStore, TreeStore, CTable)? Such a directory is usually NAME.b2d, with a
 * file embed.b2e; the path of a frame in it is its key.
 */
static bool is_in_store(const struct cli_at *at)
{
	int fd = cli_at_is_named(at) ? open_parent(at->name) : at->dir;
	bool is = fd >= 0 &&
		  (is_called_so(fd) || cli_at_has_above(fd, EMBED, SIZE_MAX));

	if (fd >= 0 && fd != at->dir)
		close(fd);
	return is;
}

/*
 * Warns if this changes a key of a store: keys are names; a frame that is
 * replaced by a frame of the same kind keeps its key.
 */
static int check_store(const struct job *job)
{
	bool same =
		job->kind->contiguous != b2f_frame_info_get(job->frame)->sparse;
	const struct cli_at *from = &job->operand->at, to = result_of(job);
	const char *path = NULL;

	if (job->how->common.force)
		return 0;
	if (job->how->common.remove && is_in_store(from))
		path = from->path;
	else if (!(job->in_place && same) && is_in_store(&to))
		path = to.path;
	if (!path)
		return 0;
	return cli_refuse(-EBUSY,
			  "%s: it is in a store of python-blosc2, "
			  "whose keys are the names of its files; -o names a "
			  "place outside, -f does it all the same",
			  path);
}

/* Refuses a file with several names: the others would keep the old frame. */
static int check_names(const struct job *job)
{
	if (!job->in_place || job->how->common.force ||
	    b2f_frame_info_get(job->frame)->sparse || job->like.st_nlink < 2)
		return 0;
	return cli_refuse(-EMLINK,
			  "%s: the file has %ju names, and the others "
			  "would keep the old frame; -f replaces this one, -o "
			  "names another",
			  job->path, (uintmax_t)job->like.st_nlink);
}

static int check_kind(const struct job *job)
{
	const char *const *said = job->how->encoding.said;
	int err;

	if (job->in_place && job->how->common.frame_offset > 0)
		return cli_refuse(-EINVAL,
				  "%s: a part of a file cannot be replaced",
				  job->path);
	/* Bytes behind the frame in its file would be lost. */
	if (job->in_place && !job->how->common.force &&
	    cli_frames_has_more(job->frame, &job->like))
		return cli_refuse(-EBUSY,
				  "%s: the file holds more than a "
				  "frame; -f replaces it, -o names another",
				  job->path);
	if (job->how->encode && b2f_frame_array(job->frame) &&
	    (said[CLI_TYPESIZE] || said[CLI_CHUNKSIZE] || said[CLI_BLOCKSIZE]))
		return cli_refuse(-EINVAL,
				  "%s: an array keeps its type, chunk "
				  "and block size",
				  job->path);
	/* A chunk is an object. */
	if (job->how->encode && b2f_frame_objects(job->frame) &&
	    said[CLI_CHUNKSIZE])
		return cli_refuse(-EINVAL,
				  "%s: serialized objects keep their chunks",
				  job->path);
	err = check_names(job);
	return err ? err : check_store(job);
}

static int begin(struct job *job)
{
	const struct b2f_frame_options how = {
		.offset = job->how->common.frame_offset, .join_objects = true};
	const struct cli_at *at = &job->operand->at;
	int err;

	err = cli_frames_open_file(job->operand->runtime, &how, at, &job->file);
	if (err)
		return err;
	job->frame = b2f_file_frame(job->file);
	job->kind = choose_kind(job);
	err = cli_frames_source(at, job->frame, &job->like, &job->like_fd);
	if (!err)
		err = choose_output(job);
	return err ? err : check_kind(job);
}

/* Keeps out writers of a frame that is about to be removed. */
static int hold(const struct job *job)
{
	if (!job->in_place && !job->how->common.remove)
		return 0;
	return cli_frames_hold(job->path, job->frame);
}

static int convert(struct job *job, const struct cli_target *target)
{
	const struct cli_encoding *user =
		job->how->encode ? &job->how->encoding : NULL;
	struct b2f_settings settings = b2f_settings_of(job->frame);
	const struct b2f_convert_options options = {
		.contiguous = job->kind->contiguous,
		.mode = job->like.st_mode & 0777,
		.settings = user ? &settings : NULL,
		.guess_typesize = user && cli_encoding_guesses(user),
		.no_verify = job->how->no_verify,
		.no_seal = job->how->common.no_seal,
		.label = job->output,
		.checksum = job->how->checksum,
		.progress = cli_progress_update,
		.arg = job->operand->progress,
	};
	int err;

	if (user)
		cli_encoding_apply(user, &settings);
	err = job->kind->make(job->operand->runtime, job->frame, &options,
			      target->at.dir, target->at.name);
	return cli_message_explain(job->output, err);
}

static int compare(struct job *job, const struct cli_at *at)
{
	const struct b2f_frame_options how = {.label = job->output,
					      .join_objects = true};
	struct b2f_file *file = NULL;
	int err;

	cli_frames_forget_pages(at);
	err = cli_frames_open_file(job->operand->runtime, &how, at, &file);
	if (err)
		return err;
	err = cli_copy_compare_all(job->file, file, job->operand->progress);
	b2f_file_close(file);
	return err;
}

static int make(struct job *job, const struct cli_target *target)
{
	bool careful = job->in_place || job->how->common.remove;
	int err;

	job->operand->progress->npasses = 1 + careful;
	err = hold(job);
	if (!err)
		err = convert(job, target);
	cli_progress_next(job->operand->progress);
	if (!err && careful)
		err = compare(job, &target->at);
	if (!err)
		err = cli_target_set_attributes(target, &job->like, job->like_fd);
	/* Has the old frame changed meanwhile? */
	return err ? err : hold(job);
}

/*
 * Removes the source at the name of the operand.  In place the result has that
 * name, unless it took another name of the same file.  Some filesystems number
 * files by their names, so that the result may seem to be the source.
 */
static int remove_source(const struct job *job, const struct cli_target *target)
{
	const struct cli_at *at = &job->operand->at;
	struct stat now;

	if (!job->in_place)
		return cli_frames_remove(at, job->operand->shown, job->frame,
					 false);
	return cli_frames_stat(at, &now) || !cli_at_is_same(&now, &job->like) ||
			       cli_frames_is(&target->to, &now)
		       ? 0
		       : cli_frames_remove_file(at, &now, false);
}

static int run(struct job *job)
{
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	struct cli_at at = result_of(job);
	int err;

	err = cli_target_open(&target, &at,
			      job->in_place ? CLI_REPLACE_SOURCE
					    : cli_replace_if(
						      job->how->common.force));
	if (!err)
		err = make(job, &target);
	if (!err)
		err = cli_target_commit(&target, true);
	if (!err && job->how->common.remove)
		err = remove_source(job, &target);
	if (!err) {
		cli_operand_report(job->operand,
				   job->in_place ? NULL : job->output,
				   b2f_file_size(job->file),
				   cli_frames_cbytes(&target.to));
		tell_of_twin(job);
	}
	return err;
}

static int transform_frame(void *how, const struct cli_operand *operand)
{
	struct job job = {.how = how,
			  .operand = operand,
			  .path = operand->at.path,
			  .like_fd = -1};
	int err;

	err = begin(&job);
	if (!err)
		err = run(&job);
	free(job.output);
	b2f_file_close(job.file);
	cli_at_close(job.like_fd);
	return err;
}

static int transform_all(const struct cli_command *self, void *options,
			 char **paths)
{
	struct transform *how = options;

	if (how->common.remove)
		how->common.changes = "";
	else if (!how->common.output && how->storage == SAME)
		how->common.changes = COPY;
	return cli_operands_run(self, options, paths);
}

static int run_convert(const struct cli_command *self, void *options,
		       char **paths)
{
	const struct transform *t = options;
	bool remove = t->common.remove;
	const struct cli_misuse misuses[] = {
		{remove && t->storage == BLOSCPACK,
		 "--rm does not go with --bloscpack, which keeps the data "
		 "alone"},
		{remove && t->storage == ARRAY,
		 "--rm does not go with --b2nd, which keeps the array alone"},
		{remove && t->common.frame_offset > 0,
		 "--rm cannot remove a part of a file"},
		{0}};
	int status = cli_command_check(self, misuses);

	return status == CLI_CONTINUE ? transform_all(self, options, paths)
				      : status;
}

const struct cli_command cli_convert_command = {
	.name = "convert",
	.summary = "copy frames, sparse to contiguous and back",
	.operands = "FRAME...",
	.help = "Copies each sparse FRAME to a contiguous one, and the other "
		"way round.\nChunks and metadata are copied as they are. The "
		"copy stands beside it, as\nNAME.b2f (contiguous) or "
		"NAME.b2frame (sparse).",
	.options = table,
	.size = sizeof(struct transform),
	.start = &(const struct transform){.storage = OTHER},
	.missing = "a frame is missing",
	.each = transform_frame,
	.run = run_convert,
};

static const struct cli_option recompress_table[] = {
	CLI_OPTION("output", 'o', "NAME", cli_option_text, FIELD(common.output),
	 "write to NAME, or into the directory NAME; keep FRAME"),
	{.shared = cli_common_recursive},
	CLI_FLAG("force", 'f', common.force, "replace an existing NAME"),
	{.shared = cli_encoding_kept_options, .field = FIELD(encoding)},
	{.shared = cli_common_options},
	{0},
};

const struct cli_command cli_recompress_command = {
	.name = "recompress",
	.summary = "encode frames anew, with other settings",
	.operands = "FRAME...",
	.help = "Encodes all data of each FRAME anew, with the settings of "
		"the options, and\notherwise those of its header. The new "
		"frame replaces it in one step, after it\nhas been read back. "
		"Metadata stay; arrays keep type, chunk and block size.",
	.options = recompress_table,
	.size = sizeof(struct transform),
	.start = &(const struct transform){.encode = true},
	.missing = "a frame is missing",
	.each = transform_frame,
	.run = transform_all,
};

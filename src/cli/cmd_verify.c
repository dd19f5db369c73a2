/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_verify.c - bloscctl verify: is every byte of a frame readable?
 *
 * Damage counts more than what could not be checked: of several frames, and
 * inside one, 1 beats 2 beats 0.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/walk.h"

static const char help[] =
	"Usage: bloscctl verify [OPTION...] FRAME...\n"
	"       bloscctl verify -r [OPTION...] DIR...\n"
	"Decodes every chunk of each FRAME, and names what is damaged.\n\n"
	"  -r, --recursive       all frames below each DIR\n"
	"  -T, --threads=N       decode on N threads; 0 (default): all cores\n"
	"      --frame-offset=N  the frame begins at byte N of the file\n"
	"  -q, --quiet           say nothing of sound frames\n"
	"  -v, --verbose         say more of sound frames\n"
	"      --no-progress     no progress bar\n"
	"  -h, --help            this text\n\n"
	"Exit status: 0 all sound; 1 damage; 2 something could not be checked,"
	"\nand no damage was seen.\n";

struct verify {
	struct b2f_runtime *runtime;
	uint64_t frame_offset;
	unsigned int nthreads;
	bool recursive;
	bool quiet;
	bool verbose;
	bool progress;
	/* Frames seen below a directory. */
	uint64_t nfound;
	/* The worst so far. */
	int status;
};

enum { OPT_FRAME_OFFSET = 256, OPT_NO_PROGRESS };

static const struct option longopts[] = {
	{"recursive", no_argument, NULL, 'r'},
	{"threads", required_argument, NULL, 'T'},
	{"frame-offset", required_argument, NULL, OPT_FRAME_OFFSET},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int set_option(struct verify *v, int opt)
{
	switch (opt) {
	case 'r':
		v->recursive = true;
		return 0;
	case 'T':
		return cli_options_threads("--threads", optarg, &v->nthreads);
	case OPT_FRAME_OFFSET:
		return cli_options_size("--frame-offset", optarg,
					&v->frame_offset);
	case 'q':
		v->quiet = true;
		v->progress = false;
		return 0;
	case 'v':
		v->verbose = true;
		cli_message_set_level(B2F_LOG_INFO);
		return 0;
	case OPT_NO_PROGRESS:
		v->progress = false;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct verify *v)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "rT:qvh", longopts, NULL)) !=
	       -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(v, opt))
			return cli_command_usage(self);
	}
	if (optind == argc)
		return cli_command_misuse(
			self, v->recursive ? "a directory is missing"
					   : "a frame is missing");
	return CLI_CONTINUE;
}

static void worsen(struct verify *v, int status)
{
	if (v->status != CLI_EXIT_DAMAGED && status != CLI_EXIT_OK)
		v->status = status;
}

static int judge(const struct b2f_check_result *r)
{
	if (r->ndamaged || r->nbad_metas)
		return CLI_EXIT_DAMAGED;
	if (r->nunsupported || r->nfailed)
		return CLI_EXIT_UNCHECKED;
	return CLI_EXIT_OK;
}

static int judge_error(int err)
{
	return err == B2F_ECORRUPT ? CLI_EXIT_DAMAGED : CLI_EXIT_UNCHECKED;
}

static void print_count(uint64_t n, const char *what)
{
	if (n)
		printf(", %llu %s", (unsigned long long)n, what);
}

static void print_details(const struct b2f_check_result *r)
{
	char stored[CLI_TEXT_SIZE], ratio[CLI_TEXT_SIZE];

	printf(", %s stored, ratio %s", cli_text_size(r->cbytes, stored),
	       cli_text_ratio(r->nbytes, r->cbytes, ratio));
	print_count(r->nspecial, "in the index alone");
}

/* Who cannot be told that all is well must not take it so. */
static void end_line(struct verify *v)
{
	if (putchar('\n') == EOF || fflush(stdout) != 0)
		worsen(v, CLI_EXIT_UNCHECKED);
}

static void print_summary(struct verify *v, const char *path, int status,
			  const struct b2f_check_result *r)
{
	static const char *const words[] = {
		[CLI_EXIT_OK] = "ok",
		[CLI_EXIT_DAMAGED] = "damaged",
		[CLI_EXIT_UNCHECKED] = "not checked",
	};
	char size[CLI_TEXT_SIZE];

	if (v->quiet && status == CLI_EXIT_OK)
		return;
	cli_text_name(stdout, path);
	printf(": %s, %llu chunk%s, %s", words[status],
	       (unsigned long long)r->nchunks, r->nchunks == 1 ? "" : "s",
	       cli_text_size(r->nbytes, size));
	if (status != CLI_EXIT_OK)
		fputs(" sound", stdout);
	print_count(r->ndamaged, "damaged");
	print_count(r->nbad_metas, "bad metalayers");
	print_count(r->nunsupported, "unsupported");
	print_count(r->nfailed, "not readable");
	if (v->verbose)
		print_details(r);
	end_line(v);
}

/* A frame that does not open has no chunks to tell of. */
static void print_failure(struct verify *v, const char *path, int status)
{
	cli_text_name(stdout, path);
	fputs(status == CLI_EXIT_DAMAGED ? ": damaged" : ": not checked",
	      stdout);
	end_line(v);
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	cli_progress_update(arg, done, total);
}

static int check_frame(struct verify *v, struct b2f_frame *frame,
		       const char *path, struct b2f_check_result *result)
{
	struct cli_progress progress;
	const struct b2f_check_options options = {
		.progress = show_progress,
		.arg = &progress,
	};
	unsigned long errors = cli_message_errors();
	int err;

	cli_progress_init(&progress, path, v->progress);
	err = b2f_check_frame(v->runtime, frame, &options, result);
	cli_progress_fini(&progress);
	if (err)
		cli_message_unless_said(errors, path, err);
	return err;
}

static void verify_frame(struct verify *v, const char *path)
{
	struct b2f_check_result result = {0};
	struct b2f_frame *frame = NULL;
	int status, err;

	err = cli_frames_open(path, v->frame_offset, &frame);
	if (!err)
		err = check_frame(v, frame, path, &result);
	status = err ? judge_error(err) : judge(&result);
	if (err)
		print_failure(v, path, status);
	else
		print_summary(v, path, status, &result);
	worsen(v, status);
	b2f_frame_close(frame);
}

/* By its content or by its name: who lost the magic is damaged. */
static void visit(void *arg, const struct cli_walk_entry *entry)
{
	struct verify *v = arg;
	mode_t type = entry->st->st_mode & S_IFMT;
	bool named = type == S_IFREG || type == S_IFDIR;

	named = named && cli_frames_stem(entry->path) > 0;
	if (!entry->peek.is_frame && !named)
		return;
	v->nfound++;
	verify_frame(v, entry->path);
}

static void verify_tree(struct verify *v, const char *path)
{
	const struct cli_walk walk = {
		.recursive = true, .visit = visit, .arg = v};

	v->nfound = 0;
	if (cli_walk_run(&walk, path))
		worsen(v, CLI_EXIT_UNCHECKED);
	else if (v->nfound == 0 && !v->quiet)
		cli_message_error("%s: there is no frame in it", path);
}

static int run_verify(const struct cli_command *self, int argc, char **argv)
{
	struct verify v = {.progress = true};
	int status;

	status = parse(self, argc, argv, &v);
	if (status != CLI_CONTINUE)
		return status;
	if (cli_frames_runtime(v.nthreads, &v.runtime))
		return CLI_EXIT_UNCHECKED;
	for (int i = optind; i < argc; i++) {
		if (v.recursive)
			verify_tree(&v, argv[i]);
		else
			verify_frame(&v, argv[i]);
	}
	b2f_runtime_free(v.runtime);
	return v.status;
}

const struct cli_command cli_verify_command = {
	.name = "verify",
	.summary = "decode everything, report damage",
	.help = help,
	.run = run_verify,
};

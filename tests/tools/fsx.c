/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsx.c - random changes of one file, each compared with a model in memory
 *
 *   fsx [OPTION...] FILE
 *
 *   --ops=N            how many (10000)
 *   --seed=N           which ones (1)
 *   --max=BYTES        largest size of the file (4 MiB and a bit)
 *   --max-op=BYTES     largest range of one operation (128 KiB)
 *   --border=BYTES     a third of all ranges begin or end near a multiple of it
 *   --weight=NAME=N    how often an operation comes (0: never)
 *   --every=N          every N operations the file is closed, then
 *   --remount=COMMAND  this runs, then the file is compared as a whole
 *   --check-all        compares the whole file after each operation (slow)
 *   --log=N            operations to print after a difference (100)
 *   --record=FILE      writes all operations to FILE
 *   --replay=FILE      runs those instead of random ones
 *   --final=FILE       writes what the file has to hold at the end to FILE
 *
 * Operations are logged, recorded and replayed as lines
 *
 *   NUMBER NAME OFFSET LENGTH SEED
 *
 * and each has the same meaning whatever came before, so that lines can be
 * taken out of a recorded file to find the fewest that show a fault.
 *
 * Exit status: 0, 1 (a difference, or an operation that failed), 2 (usage).
 */
#include <getopt.h>
#include <signal.h>
#include <time.h>

#include "tests/support/fsx_ops.h"

static enum kind pick_kind(struct fsx *x)
{
	unsigned int all = 0;
	uint64_t at;
	int kind = 0;

	for (int i = 0; i < KINDS; i++)
		all += x->weight[i];
	at = below(x, all);
	while (at >= x->weight[kind])
		at -= x->weight[kind++];
	return (enum kind)kind;
}

/* 1 to @limit, more often small than large, often round. */
static uint64_t pick_len(struct fsx *x, uint64_t limit)
{
	static const uint64_t scale[] = {16, 512, PAGE, PAGE, 65536, 65536, 0};
	static const uint64_t unit[] = {1, 1, 1, 8, 512, PAGE, PAGE};
	uint64_t most = scale[below(x, 7)], round = unit[below(x, 7)], len;

	if (most == 0 || most > limit)
		most = limit;
	len = 1 + below(x, most);
	len = (len + round - 1) / round * round;
	return len < limit ? len : limit;
}

/* A range within [0, @limit), limit > 0. */
static void pick_range(struct fsx *x, uint64_t limit, struct op *op)
{
	uint64_t at, shift;

	op->len = pick_len(x, x->max_op < limit ? x->max_op : limit);
	op->off = below(x, limit);
	if (below(x, 4) == 0)
		op->off -= op->off % PAGE;
	if (below(x, 3) == 0) {
		at = below(x, limit / x->border + 1) * x->border;
		if (below(x, 2)) /* ends there */
			at = at > op->len ? at - op->len : 0;
		shift = below(x, 3) ? below(x, 19) : 9;
		op->off = at + shift > 9 ? at + shift - 9 : 0;
		if (op->off >= limit)
			op->off = limit - 1;
	}
	if (op->len > limit - op->off)
		op->len = limit - op->off;
}

/* Anywhere, but mostly not far from the size there is. */
static uint64_t pick_size(struct fsx *x)
{
	uint64_t by = below(x, x->max_op + 1), to;

	if (below(x, 3) == 0)
		return below(x, x->max + 1);
	if (below(x, 4) == 0) {
		to = below(x, x->max / x->border + 1) * x->border;
		return to;
	}
	if (below(x, 2))
		return x->size + by < x->max ? x->size + by : x->max;
	return x->size > by ? x->size - by : 0;
}

static void pick_op(struct fsx *x, struct op *op)
{
	op->kind = pick_kind(x);
	op->seed = next(&x->rng) >> 32;
	if (x->every && op->number % x->every == 0)
		op->kind = REMOUNT;
	if (op->kind == APPEND && x->size == x->max)
		op->kind = WRITE;
	if (op->kind == APPEND) {
		pick_range(x, x->max - x->size, op);
		op->off = 0;
	} else if (op->kind == TRUNCATE) {
		op->off = pick_size(x);
	} else if (op->kind == WRITE || op->kind == READ || op->kind == ZERO ||
		   x->size == 0) {
		pick_range(x, x->max, op);
	} else if (op->kind < FSYNC) {
		pick_range(x, x->size, op);
	}
}

/* False at the end of the file that is replayed. */
static bool read_op(struct fsx *x, struct op *op)
{
	unsigned long long number, off, len, seed;
	char name[16];
	int kind = 0;

	if (fscanf(x->replay, "%llu %15s %llu %llu %llu", &number, name, &off,
		   &len, &seed) != 5)
		return false;
	while (kind < KINDS && strcmp(name, names[kind]))
		kind++;
	if (kind == KINDS || off > x->max || len > x->max - off)
		fail(x, "the replayed operation %llu is out of range", number);
	if (kind == APPEND && len > x->max - x->size)
		fail(x, "the replayed operation %llu is too much", number);
	*op = (struct op){number, (enum kind)kind, off, len, seed};
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(struct fsx *x)
{
	double start = now();

	for (uint64_t n = 1; x->replay || n <= x->ops; n++) {
		struct op op = {.number = n};

		if (!x->replay)
			pick_op(x, &op);
		else if (!read_op(x, &op))
			break;
		x->log[x->done++ % x->nlog] = op;
		if (x->record)
			print_op(x->record, &op);
		runs[op.kind](x, &op);
		if (x->check_all)
			check_whole(x);
		if (n % 50000 == 0) {
			printf("%llu operations, size %llu, %.0f s\n",
			       (unsigned long long)n,
			       (unsigned long long)x->size, now() - start);
			fflush(stdout);
		}
	}
	do_reopen(x, &(struct op){.kind = REMOUNT});
	printf("%llu operations without a difference, size %llu, %.0f s\n",
	       (unsigned long long)x->done, (unsigned long long)x->size,
	       now() - start);
}

static void usage(const char *why)
{
	fprintf(stderr,
		"fsx: %s\nusage: fsx [--OPTION=VALUE...] FILE; the options "
		"are in tests/tools/fsx.c\n",
		why);
	exit(2);
}

static void set_weight(struct fsx *x, const char *arg)
{
	const char *value = strchr(arg, '=');
	int kind = 0;

	while (value && kind < KINDS &&
	       (strncmp(arg, names[kind], (size_t)(value - arg)) ||
		names[kind][value - arg]))
		kind++;
	if (!value || kind == KINDS)
		usage("--weight wants NAME=NUMBER");
	x->weight[kind] = (unsigned int)strtoul(value + 1, NULL, 0);
}

static FILE *open_list(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

enum option_code {
	OPT_NUMBER,
	OPT_WEIGHT,
	OPT_REMOUNT,
	OPT_CHECK_ALL,
	OPT_RECORD,
	OPT_REPLAY,
	OPT_FINAL,
};

/* The first ones are numbers, in the order of numbers[] in parse(). */
static const struct option options[] = {
	{"ops", 1, NULL, OPT_NUMBER},
	{"seed", 1, NULL, OPT_NUMBER},
	{"max", 1, NULL, OPT_NUMBER},
	{"max-op", 1, NULL, OPT_NUMBER},
	{"border", 1, NULL, OPT_NUMBER},
	{"every", 1, NULL, OPT_NUMBER},
	{"log", 1, NULL, OPT_NUMBER},
	{"weight", 1, NULL, OPT_WEIGHT},
	{"remount", 1, NULL, OPT_REMOUNT},
	{"check-all", 0, NULL, OPT_CHECK_ALL},
	{"record", 1, NULL, OPT_RECORD},
	{"replay", 1, NULL, OPT_REPLAY},
	{"final", 1, NULL, OPT_FINAL},
	{NULL, 0, NULL, 0},
};

static void set_option(struct fsx *x, enum option_code code, uint64_t *number)
{
	switch (code) {
	case OPT_NUMBER:
		*number = strtoull(optarg, NULL, 0);
		break;
	case OPT_WEIGHT:
		set_weight(x, optarg);
		break;
	case OPT_REMOUNT:
		x->remount = optarg;
		break;
	case OPT_CHECK_ALL:
		x->check_all = true;
		break;
	case OPT_RECORD:
		x->record = open_list(optarg, "w");
		break;
	case OPT_REPLAY:
		x->replay = open_list(optarg, "r");
		break;
	case OPT_FINAL:
		x->final = optarg;
		break;
	}
}

static void parse(struct fsx *x, int argc, char **argv)
{
	uint64_t *const numbers[] = {&x->ops,	 &x->rng,   &x->max, &x->max_op,
				     &x->border, &x->every, &x->nlog};
	int code, which;

	while ((code = getopt_long(argc, argv, "", options, &which)) != -1) {
		if (code == '?')
			usage("unknown option");
		set_option(x, (enum option_code)code,
			   code == OPT_NUMBER ? numbers[which] : NULL);
	}
	if (optind + 1 != argc || !x->max || !x->max_op || !x->border ||
	    !x->nlog)
		usage("one file, and sizes above 0");
	x->path = argv[optind];
}

int main(int argc, char **argv)
{
	struct fsx x = {
		.max = (4u << 20) + 5003,
		.max_op = 128u << 10,
		.border = 1u << 20,
		.ops = 10000,
		.rng = 1,
		.nlog = 100,
		.fd = -1,
		.weight = {220, 40, 220, 120, 120, 70, 60, 60, 30, 2, 2, 0},
	};

	parse(&x, argc, argv);
	x.model = calloc(1, x.max);
	x.buf = malloc(x.max);
	x.log = calloc(x.nlog, sizeof(*x.log));
	if (!x.model || !x.buf || !x.log)
		usage("out of memory");
	running = &x;
	signal(SIGBUS, on_sigbus);
	open_file(&x, O_CREAT | O_TRUNC);
	run(&x);
	close_file(&x);
	write_final(&x);
	free(x.model);
	free(x.buf);
	free(x.log);
	if (x.record && fclose(x.record))
		usage("cannot write what was recorded");
	if (x.replay)
		fclose(x.replay);
	return 0;
}

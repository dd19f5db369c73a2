/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create_frame.c - makes an empty sparse frame, for a test
 *
 *   create_frame PATH [TYPESIZE CHUNKSIZE BLOCKSIZE CODEC CLEVEL SPLIT
 *                      FILTER...]
 *
 * All are numbers; filters come as ID or ID:META, in the order of the slots.
 * Without them the frame gets the default settings.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"

static void print(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "create_frame: %s\n", message);
}

static void parse_filter(const char *text, struct b2f_settings *s, int slot)
{
	const char *meta = strchr(text, ':');

	s->filters[slot] = (uint8_t)atoi(text);
	if (meta)
		s->filters_meta[slot] = (uint8_t)atoi(meta + 1);
}

static void parse(char **args, int n, struct b2f_settings *s)
{
	*s = (struct b2f_settings){
		.typesize = (uint32_t)atoi(args[0]),
		.chunksize = atoi(args[1]),
		.blocksize = (uint32_t)atoi(args[2]),
		.codec = (uint8_t)atoi(args[3]),
		.clevel = (uint8_t)atoi(args[4]),
		.splitmode = (uint8_t)atoi(args[5]),
	};
	for (int i = 6; i < n && i < 6 + B2F_SLOTS; i++)
		parse_filter(args[i], s, i - 6);
}

int main(int argc, char **argv)
{
	const struct b2f_log log = {.write = print};
	struct b2f_settings settings = b2f_settings_default();
	int err;

	if (argc != 2 && argc < 8)
		return 2;
	if (argc > 2)
		parse(argv + 2, argc - 2, &settings);
	err = b2f_frame_create(&settings, AT_FDCWD, argv[1], 0644, true, &log);
	if (err) {
		fprintf(stderr, "create_frame: %s: %s\n", argv[1],
			b2f_strerror(err));
		return 1;
	}
	return 0;
}

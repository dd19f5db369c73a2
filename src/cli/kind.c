/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.c - what an operand is */
#include "cli/kind.h"

#include <errno.h>
#include <string.h>

#include "b2frame/remote.h"
#include "cli/message.h"
#include "cli/pack_path.h"

enum cli_kind cli_kind_of(const char *operand)
{
	if (strcmp(operand, "-") == 0)
		return CLI_KIND_STDIN;
	if (b2f_remote_is_url(operand))
		return CLI_KIND_URL;
	return cli_pack_path_leads_in(operand, false) ? CLI_KIND_MEMBER
					       : CLI_KIND_PATH;
}

/* NULL: it can be changed. */
static const char *why_not(enum cli_kind kind)
{
	switch (kind) {
	case CLI_KIND_PATH:
		return NULL;
	case CLI_KIND_URL:
		return "what is on a server is not changed or removed";
	case CLI_KIND_MEMBER:
		return "nothing in that store can be changed";
	case CLI_KIND_STDIN:
		return "standard input cannot be changed or removed";
	}
	return NULL;
}

int cli_kind_check_change(const char *operand, enum cli_kind kind,
			  const char *advice)
{
	const char *why = why_not(kind);

	if (!why)
		return 0;
	cli_message_error("%s: %s%s", operand, why, advice);
	return -EROFS;
}

int cli_kind_check_output(const char *output)
{
	if (cli_kind_of(output) != CLI_KIND_URL)
		return 0;
	cli_message_error("%s: only compress, append and copy write to servers; "
			  "copy takes there what this makes",
			  output);
	return -EROFS;
}

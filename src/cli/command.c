/* SPDX-License-Identifier: BSD-3-Clause */
/* command.c - the table entry of a command */
#include "cli/command.h"

#include "cli/exit_codes.h"
#include "cli/message.h"

int cli_command_misuse(const struct cli_command *self, const char *reason)
{
	cli_message_error("%s: %s; see 'bloscctl %s --help'", self->name,
			  reason, self->name);
	return CLI_EXIT_USAGE;
}

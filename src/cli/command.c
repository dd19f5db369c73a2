/* SPDX-License-Identifier: BSD-3-Clause */
/* command.c - what every command says of itself */
#include "cli/command.h"

#include <stdio.h>

#include "cli/exit_codes.h"
#include "cli/message.h"

int cli_command_help(const struct cli_command *self)
{
	fputs(self->help, stdout);
	return CLI_EXIT_OK;
}

int cli_command_usage(const struct cli_command *self)
{
	cli_message_error("see 'bloscctl %s --help'", self->name);
	return CLI_EXIT_USAGE;
}

int cli_command_misuse(const struct cli_command *self, const char *reason)
{
	cli_message_error("%s: %s", self->name, reason);
	return cli_command_usage(self);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* powers.c - which of root's powers the daemon keeps */
#include "powers.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Capabilities that requests need: to act on files of all users as their
 * callers may (the kernel has checked that), to make files as the caller, and
 * to unmount.
 */
static const unsigned int kept[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
	CAP_FOWNER, CAP_FSETID,	      CAP_SETUID,
	CAP_SETGID, CAP_MKNOD,	      CAP_SYS_ADMIN,
};

int fs_powers_get(struct fs_powers *powers)
{
	*powers = (struct fs_powers){.header.version =
					     _LINUX_CAPABILITY_VERSION_3};
	return (int)syscall(SYS_capget, &powers->header, powers->data);
}

int fs_powers_set(struct fs_powers *powers)
{
	return (int)syscall(SYS_capset, &powers->header, powers->data);
}

int fs_powers_drop(void)
{
	struct fs_powers powers;
	uint32_t mask[_LINUX_CAPABILITY_U32S_3] = {0};

	if (fs_powers_get(&powers))
		return -1;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		mask[CAP_TO_INDEX(kept[i])] |= CAP_TO_MASK(kept[i]);
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		powers.data[i].effective &= mask[i];
		powers.data[i].permitted &= mask[i];
		powers.data[i].inheritable &= mask[i];
	}
	return fs_powers_set(&powers);
}

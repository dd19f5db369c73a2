/* SPDX-License-Identifier: BSD-3-Clause */
/* test_home.c - homes and files aside that cannot be looked at */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/home.h"

#define HOME ".bloscfs-linked-0123456789abcdef.b2frame"

Test(home, a_name_that_cannot_be_read_is_no_other_file)
{
	cr_assert_eq(b2f_home_check_name(AT_FDCWD, "missing", HOME), -ESTALE);
	cr_assert_eq(b2f_home_check_name(-1, "name", HOME), -EIO);
}

/* Its contents do not matter. */
Test(home, a_file_aside_is_shown_although_it_cannot_be_entered)
{
	char dir[] = "/tmp/b2f-home-XXXXXX", aside[B2F_NAME_SIZE];
	int fd;

	cr_assert_not_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(fd, 0);
	cr_assert_eq(b2f_home_new_aside("new.b2frame", aside), 0);
	cr_assert_eq(mkdirat(fd, aside, 0), 0);
	cr_assert_eq(fchmod(fd, 0755), 0);
	/* Root may enter any directory. */
	cr_assert(geteuid() != 0 || seteuid(65534) == 0);
	cr_assert_eq(b2f_home_find_aside(fd, aside, NULL), B2F_HOME_ALONE);
	cr_assert(geteuid() != 65534 || seteuid(0) == 0);
	cr_assert_eq(unlinkat(fd, aside, AT_REMOVEDIR), 0);
	close(fd);
	cr_assert_eq(rmdir(dir), 0);
}

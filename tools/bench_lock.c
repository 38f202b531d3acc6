/* SPDX-License-Identifier: MIT */
/*
 * One bench at a time: in a folder, since its files there have the names of the other's,
 * and on a device of which it sets anything, since it sets back what it has found.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { LOCKS_MAX = 16 };

static struct lock {
	dev_t device;
	ino_t inode;
} locks[LOCKS_MAX];
static unsigned nlocks;

static bool is_mine(const struct stat *st)
{
	for (unsigned i = 0; i < nlocks; i++) {
		if (locks[i].device == st->st_dev && locks[i].inode == st->st_ino)
			return true;
	}
	return false;
}

/* The process that holds the lock, 0 when that cannot be told. */
static long holder(const struct stat *st)
{
	FILE *in = fopen("/proc/locks", "re");
	unsigned long long inode;
	unsigned high, low;
	char line[256];
	long pid = 0;

	while (in && fgets(line, sizeof(line), in)) {
		/* Those that wait have an arrow, and so one word more. */
		if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%llu", &pid, &high, &low,
			   &inode) == 4 &&
		    inode == st->st_ino && makedev(high, low) == st->st_dev)
			break;
		pid = 0;
	}
	if (in)
		fclose(in);
	return pid;
}

static int wait_for(int fd, const char *path, const struct stat *st)
{
	long pid = holder(st);
	char whose[40] = "";

	if (pid)
		snprintf(whose, sizeof(whose), " (process %ld)", pid);
	wn_say("waiting for the end of another bench%s, which uses %s", whose, path);
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR || bench_stop)
			return -errno;
	}
	return 0;
}

int bench_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int err = 0;

	/* Where there are no such locks, it is as it would be without them. */
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || is_mine(&st) || nlocks == LOCKS_MAX) {
		close(fd);
		return 0;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		err = errno == EWOULDBLOCK ? wait_for(fd, path, &st) : -errno;
	if (err) {
		close(fd);
		return err == -EINTR ? err : 0;
	}
	/* The descriptor stays open: the lock is to end when this process does. */
	locks[nlocks++] = (struct lock){st.st_dev, st.st_ino};
	return 0;
}

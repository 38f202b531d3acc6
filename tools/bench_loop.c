/* SPDX-License-Identifier: MIT */
/*
 * A file system of its own on a loop device, with limits of its own.  Everything goes
 * with us, however we end: the image has no name, the mount is in a namespace that nobody
 * else is in, and the device frees itself with its last user.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How each is made on a device, in silence, complete from the beginning. */
static const struct {
	const char *name, *maker, *words[4];
} makers[] = {
	{ "ext4", "mkfs.ext4", { "-q", "-F", "-E", "lazy_itable_init=0,nodiscard" } },
	{ "xfs", "mkfs.xfs", { "-q", "-f", "-K" } },
	{ "btrfs", "mkfs.btrfs", { "-q", "-f", "-K" } },
};

enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };

static int fail(int err, const char *what, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s: %s", what, strerror(-err));
	return err;
}

bool bench_loop_knows(const char *fs)
{
	for (unsigned i = 0; i < MAKERS; i++) {
		if (!strcmp(fs, makers[i].name))
			return true;
	}
	return false;
}

/* An unnamed file, with its space: a hole would be filled while things are measured. */
static int open_image(const char *dir, uint64_t size)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/willneed-loop.XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	if (fallocate(fd, 0, 0, (off_t)size) < 0 &&
	    (errno != EOPNOTSUPP || ftruncate(fd, (off_t)size) < 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* A descriptor of a loop device over the image, and its path. */
static int attach(int image, char *path, size_t path_size)
{
	struct loop_config config = {
		.fd = (uint32_t)image,
		/* Direct: what the file system caches is not to be cached twice. */
		.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
	};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int err = control < 0 ? -errno : -EBUSY;

	/* Somebody else may take the free one that we were told of. */
	for (int try = 0; control >= 0 && try < 16 && err == -EBUSY; try++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE), fd;

		snprintf(path, path_size, "/dev/loop%d", number);
		fd = number < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			close(control);
			return fd;
		}
		err = -errno;
		if (fd >= 0)
			close(fd);
	}
	if (control >= 0)
		close(control);
	return err;
}

static int make_fs(unsigned which, const char *device)
{
	char program[PATH_MAX], *argv[8];
	unsigned n = 0;
	int status;
	pid_t pid;

	/* Not in everybody's PATH. */
	if (wn_program_find(makers[which].maker, program) < 0)
		snprintf(program, sizeof(program), "/usr/sbin/%s", makers[which].maker);
	argv[n++] = program;
	for (unsigned i = 0; i < 4 && makers[which].words[i]; i++)
		argv[n++] = (char *)(uintptr_t)makers[which].words[i];
	argv[n++] = (char *)(uintptr_t)device;
	argv[n] = NULL;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(program, argv);
		_exit(WN_EXIT_NOTFOUND);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == WN_EXIT_NOTFOUND ? -ENOENT :
									       -EIO;
}

/* What others mount is still seen here, but not the other way round. */
static int own_namespace(void)
{
	static bool done;

	if (!done && (unshare(CLONE_NEWNS) < 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0))
		return -errno;
	done = true;
	return 0;
}

static int mount_image(struct bench_loop *l, const char *dir, unsigned which, int image,
		       char *why, size_t why_size)
{
	char device[64];
	struct stat st;
	int fd, err;

	fd = attach(image, device, sizeof(device));
	if (fd < 0)
		return fail(fd, "no loop device", why, why_size);
	err = make_fs(which, device);
	if (err)
		fail(err, makers[which].maker, why, why_size);
	snprintf(l->mount, sizeof(l->mount), "%s/willneed-mount.XXXXXX", dir);
	if (!err && !mkdtemp(l->mount)) {
		err = fail(-errno, "no folder to mount on", why, why_size);
		l->mount[0] = '\0';
	}
	if (!err && mount(device, l->mount, makers[which].name, 0, NULL) < 0) {
		err = fail(-errno, "cannot mount", why, why_size);
		rmdir(l->mount);
	}
	if (!err && fstat(fd, &st) == 0)
		l->device = st.st_rdev;
	close(fd);
	l->mounted = !err;
	return err;
}

int bench_loop_make(struct bench_loop *l, const char *dir, const char *fs, uint64_t size,
		    char *why, size_t why_size)
{
	unsigned which = 0;
	int image, err;

	while (which < MAKERS && strcmp(fs, makers[which].name))
		which++;
	if (which == MAKERS)
		return fail(-EINVAL, fs, why, why_size);
	err = own_namespace();
	if (err)
		return fail(err, "cannot mount", why, why_size);
	image = open_image(dir, size);
	if (image < 0)
		return fail(image, "no room for a file system", why, why_size);
	err = mount_image(l, dir, which, image, why, why_size);
	close(image);
	snprintf(l->fs, sizeof(l->fs), "%s", fs);
	return err;
}

void bench_loop_drop(struct bench_loop *l)
{
	if (!l->mounted)
		return;
	if (umount(l->mount) < 0)
		umount2(l->mount, MNT_DETACH);
	rmdir(l->mount);
	l->mounted = false;
}

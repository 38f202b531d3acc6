/* SPDX-License-Identifier: MIT */
/*
 * reads KIND FILE [MORE]: cold reads through descriptors, in every way and order, and what
 * programs do meanwhile.  Prints what must be the same without the library.
 */
#include <linux/falloc.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "host.h"

#define PIECE ((size_t)65536)

static const char *self, *path, *more;
static char *buf;
static size_t size;
static int at_start;

/* From cold; the program's own way to get there. */
static int begin(void)
{
	struct stat st;
	int fd;

	chill(path);
	fd = open(path, O_RDONLY);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	return fd;
}

static void read_range(int fd, size_t from, size_t to)
{
	for (size_t at = from; at < to; at += PIECE)
		MUST(pread(fd, buf, PIECE, (off_t)at) == (ssize_t)PIECE &&
		     right(buf, at, PIECE));
}

static void read_down(int fd, size_t from, size_t to)
{
	for (size_t at = from; at > to; at -= PIECE)
		read_range(fd, at - PIECE, at);
}

/* -- Every call ------------------------------------------------------------------------ */

static ssize_t by_read(int fd, size_t at)
{
	(void)at;
	return read(fd, buf, PIECE);
}

static ssize_t by_seek(int fd, size_t at)
{
	MUST(lseek(fd, (off_t)at, SEEK_SET) == (off_t)at);
	return read(fd, buf, PIECE);
}

static ssize_t by_pread(int fd, size_t at)
{
	return pread(fd, buf, PIECE, (off_t)at);
}

static ssize_t by_pread64(int fd, size_t at)
{
	return pread64(fd, buf, PIECE, (off64_t)at);
}

static struct iovec *pieces(void)
{
	static struct iovec v[3];

	v[0] = (struct iovec){ buf, 8 };
	v[1] = (struct iovec){ buf + 8, PIECE - 4104 };
	v[2] = (struct iovec){ buf + PIECE - 4096, 4096 };
	return v;
}

static ssize_t by_readv(int fd, size_t at)
{
	(void)at;
	return readv(fd, pieces(), 3);
}

static ssize_t by_preadv(int fd, size_t at)
{
	return preadv(fd, pieces(), 3, (off_t)at);
}

static ssize_t by_preadv64(int fd, size_t at)
{
	return preadv64(fd, pieces(), 3, (off64_t)at);
}

static ssize_t by_preadv2(int fd, size_t at)
{
	return preadv2(fd, pieces(), 3, (off_t)at, 0);
}

static ssize_t by_preadv64v2(int fd, size_t at)
{
	(void)at;
	return preadv64v2(fd, pieces(), 3, -1, 0);
}

static int other = -1;

static ssize_t by_sendfile(int fd, size_t at)
{
	off_t offset = (off_t)at;
	ssize_t n = sendfile(other, fd, &offset, PIECE);

	MUST(offset == (off_t)at + n && pread(other, buf, (size_t)n, (off_t)at) == n);
	return n;
}

static ssize_t by_sendfile_on(int fd, size_t at)
{
	ssize_t n = sendfile64(other, fd, NULL, PIECE);

	MUST(lseek(fd, 0, SEEK_CUR) == (off_t)at + n);
	MUST(pread(other, buf, (size_t)n, (off_t)at) == n);
	return n;
}

static ssize_t by_splice(int fd, size_t at)
{
	off64_t offset = (off64_t)at;
	int ends[2];
	ssize_t n = 0, got;

	MUST(pipe(ends) == 0);
	while ((size_t)n < PIECE && (got = splice(fd, &offset, ends[1], NULL, PIECE - (size_t)n, 0)) > 0)
		for (ssize_t end = n + got; n < end; n += got)
			MUST((got = read(ends[0], buf + n, (size_t)(end - n))) > 0);
	MUST(offset == (off64_t)at + n && !close(ends[0]) && !close(ends[1]));
	return n;
}

/* On the same file system, so that it is one of the kernel's own copies. */
static ssize_t by_copy_file_range(int fd, size_t at)
{
	off64_t in = (off64_t)at, out = 0;
	ssize_t n = copy_file_range(fd, &in, other, &out, PIECE, 0);

	MUST(in == (off64_t)at + n && pread(other, buf, (size_t)n, 0) == n);
	return n;
}

static void every_call(void)
{
	static const struct {
		const char *name;
		ssize_t (*read)(int fd, size_t at);
		bool anywhere; /* backward, too */
	} ways[] = {
		{ "read", by_read, false },	    { "lseek, read", by_seek, true },
		{ "pread", by_pread, true },	    { "pread64", by_pread64, true },
		{ "readv", by_readv, false },	    { "preadv", by_preadv, true },
		{ "preadv64", by_preadv64, true },  { "preadv2", by_preadv2, true },
		{ "preadv64v2", by_preadv64v2, false }, { "sendfile", by_sendfile, true },
		{ "sendfile64", by_sendfile_on, false }, { "splice", by_splice, true },
		{ "copy_file_range", by_copy_file_range, true },
	};

	for (size_t w = 0; w < 2 * sizeof(ways) / sizeof(ways[0]); w++) {
		bool down = w % 2;
		ssize_t (*way)(int, size_t) = ways[w / 2].read;
		char name[300];
		int fd;

		if (down && !ways[w / 2].anywhere)
			continue;
		fd = begin();
		snprintf(name, sizeof(name), "%s.copy", path);
		other = way == by_copy_file_range ? open(name, O_RDWR | O_CREAT, 0600) :
						    memfd_create("copy", 0);
		MUST(other >= 0);
		for (size_t i = 0; i < size; i += PIECE) {
			size_t at = down ? size - PIECE - i : i;

			if (way == by_sendfile)
				MUST(lseek(other, (off_t)at, SEEK_SET) == (off_t)at);
			MUST(way(fd, at) == (ssize_t)PIECE);
			if (!right(buf, at, PIECE))
				die("%s at %zu", ways[w / 2].name, at);
		}
		MUST(way(fd, size) == 0);
		printf("%s%s: position %ld\n", ways[w / 2].name, down ? ", down" : "",
		       (long)lseek(fd, 0, SEEK_CUR));
		MUST(!close(fd) && !close(other));
		unlink(name);
	}
}

/* -- Orders ---------------------------------------------------------------------------- */

static void interleaved(void)
{
	int fd = begin();

	for (size_t at = 0; at < size / 8; at += PIECE)
		for (size_t k = 0; k < 8; k++)
			read_range(fd, k * (size / 8) + at, k * (size / 8) + at + PIECE);
}

static int shared_fd;
static uint64_t sum;

/* Which pieces a thread gets is not known: all of them together are what counts. */
static void *reads_on(void *unused)
{
	char *own = anon(PIECE);
	uint64_t mine = 0;
	ssize_t n;

	(void)unused;
	while ((n = read(shared_fd, own, PIECE)) > 0)
		for (ssize_t i = 0; i < n; i += 8)
			mine += *(uint64_t *)(own + i);
	MUST(n == 0);
	__atomic_fetch_add(&sum, mine, __ATOMIC_RELAXED);
	return NULL;
}

static void *reads_quarter(void *which)
{
	size_t quarter = size / 4, from = (size_t)which * quarter;
	char *own = anon(PIECE);

	for (size_t at = from; at < from + quarter; at += PIECE)
		MUST(pread(shared_fd, own, PIECE, (off_t)at) == (ssize_t)PIECE &&
		     right(own, at, PIECE));
	return NULL;
}

static void four(void *(*what)(void *))
{
	pthread_t t[4];

	for (size_t i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, what, (void *)i) == 0);
	for (size_t i = 0; i < 4; i++)
		MUST(pthread_join(t[i], NULL) == 0);
}

static void threads(void)
{
	uint64_t expected = 0;

	shared_fd = begin();
	for (size_t at = 0; at < size; at += 8)
		expected += word_at(at);
	four(reads_on);
	MUST(sum == expected);
	MUST(!close(shared_fd));
	shared_fd = begin();
	four(reads_quarter);
}

/* The position is shared; what is closed is one of its names. */
static void duplicates(void)
{
	int fd = begin();

	for (size_t at = 0; at < size; at += 2 * PIECE) {
		int twin = dup(fd);

		MUST(twin >= 0);
		MUST(read(fd, buf, PIECE) == (ssize_t)PIECE && right(buf, at, PIECE));
		MUST(!close(fd));
		MUST(read(twin, buf, PIECE) == (ssize_t)PIECE);
		MUST(right(buf, at + PIECE, PIECE));
		fd = dup2(twin, fd);
		MUST(fd >= 0 && !close(twin));
	}
}

static void direct(void)
{
	int fd;

	begin();
	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0)
		return;
	for (size_t at = 0; at < size; at += PIECE)
		MUST(read(fd, buf, PIECE) == (ssize_t)PIECE && right(buf, at, PIECE));
	read_down(fd, size, 0);
}

static void reads_all_of(const char *name)
{
	uint64_t words = 0;
	size_t total = 0;
	ssize_t n;
	int fd = open(name, O_RDONLY);

	while ((n = read(fd, buf, PIECE)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			words = words * 31 + (unsigned char)buf[i];
		total += (size_t)n;
	}
	printf("%s: %zu bytes, %llx, errno %d\n", name, total, (unsigned long long)words,
	       n < 0 ? errno : 0);
	if (fd >= 0)
		MUST(!close(fd));
}

/* What is no regular file, and small ones. */
static void others(void)
{
	int ends[2][2];

	MUST(pipe(ends[0]) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[1]) == 0);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < 20000; i++) {
			char c = (char)i, got;

			MUST(write(ends[k][1], &c, 1) == 1);
			MUST(read(ends[k][0], &got, 1) == 1 && got == c);
		}
		MUST(!close(ends[k][1]) && read(ends[k][0], buf, PIECE) == 0);
		MUST(!close(ends[k][0]));
	}
	reads_all_of("/proc/self/comm");
	reads_all_of("/proc/self/cmdline");
	reads_all_of("/proc/version");
	reads_all_of("/sys/kernel/mm/transparent_hugepage/enabled");
	reads_all_of("/etc/passwd");
	reads_all_of("/dev/null");
	reads_all_of("/tmp");
	reads_all_of("/nonexistent");
}

/* -- The file changes meanwhile -------------------------------------------------------- */

static size_t done; /* what has been changed, up to here, is to be seen changed */

static void *writes(void *unused)
{
	int fd = open(path, O_WRONLY);
	uint64_t *own = (uint64_t *)anon(PIECE);

	(void)unused;
	MUST(fd >= 0);
	for (size_t at = 0; at < size; at += PIECE) {
		for (size_t i = 0; i < PIECE / 8; i++)
			own[i] = ~word_at(at + i * 8);
		MUST(pwrite(fd, own, PIECE, (off_t)at) == (ssize_t)PIECE);
		__atomic_store_n(&done, at + PIECE, __ATOMIC_RELEASE);
		if (at % (16 * PIECE) == 0)
			usleep(200);
	}
	MUST(!close(fd));
	return NULL;
}

/* Every word is the old one or the new one; the new one, once its write has returned. */
static void check_written(int fd, size_t at)
{
	size_t new = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
	uint64_t *word = (uint64_t *)buf;

	MUST(pread(fd, buf, PIECE, (off_t)at) == (ssize_t)PIECE);
	for (size_t i = 0; i < PIECE; i += 8)
		MUST(word[i / 8] == ~word_at(at + i) ||
		     (at + i >= new && word[i / 8] == word_at(at + i)));
}

static void written(void)
{
	int fd = begin();
	pthread_t t;

	MUST(pthread_create(&t, NULL, writes, NULL) == 0);
	for (size_t at = 0; at < size; at += PIECE)
		check_written(fd, at);
	MUST(pthread_join(t, NULL) == 0);
	for (size_t at = size; at > 0; at -= PIECE)
		check_written(fd, at - PIECE);
}

static void *punches(void *unused)
{
	int fd = open(path, O_RDWR);

	(void)unused;
	MUST(fd >= 0);
	for (size_t at = size; at > 0; at -= PIECE) {
		MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       (off_t)(at - PIECE), (off_t)PIECE) == 0);
		__atomic_store_n(&done, at - PIECE, __ATOMIC_RELEASE);
	}
	MUST(!close(fd));
	return NULL;
}

/* Nothing that was there before is seen once the hole is made. */
static void check_punched(int fd, size_t at)
{
	size_t hole = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
	uint64_t *word = (uint64_t *)buf;

	MUST(pread(fd, buf, PIECE, (off_t)at) == (ssize_t)PIECE);
	for (size_t i = 0; i < PIECE; i += 8)
		MUST(word[i / 8] == 0 || (at + i < hole && word[i / 8] == word_at(at + i)));
}

static void punched(void)
{
	int fd = begin();
	pthread_t t;

	done = size;
	read_range(fd, 0, size / 4);
	MUST(pthread_create(&t, NULL, punches, NULL) == 0);
	for (size_t at = size / 4; at < size; at += PIECE)
		check_punched(fd, at);
	MUST(pthread_join(t, NULL) == 0);
	for (size_t at = size; at > 0; at -= PIECE)
		check_punched(fd, at - PIECE);
}

/* Cut in the middle of it, and grown again: then zeroes. */
static void cut(void)
{
	int fd = begin();
	size_t half = size / 2;

	read_down(fd, size, half + half / 2);
	MUST(truncate(path, (off_t)half) == 0);
	MUST(pread(fd, buf, PIECE, (off_t)half) == 0);
	MUST(pread(fd, buf, 2 * PIECE, (off_t)(half - PIECE)) == (ssize_t)PIECE);
	read_down(fd, half, half / 2);
	MUST(truncate(path, (off_t)size) == 0);
	for (size_t at = size; at > half; at -= PIECE) {
		MUST(pread(fd, buf, PIECE, (off_t)(at - PIECE)) == (ssize_t)PIECE);
		for (size_t i = 0; i < PIECE; i++)
			MUST(!buf[i]);
	}
	read_down(fd, half / 2, 0);
}

/* -- Letting go ------------------------------------------------------------------------ */

static void by_close(int fd)
{
	MUST(!close(fd));
}

static void by_dup2(int fd)
{
	MUST(dup2(0, fd) == fd);
}

static void by_dup3(int fd)
{
	MUST(dup3(0, fd, O_CLOEXEC) == fd);
}

static void by_close_range(int fd)
{
	MUST(close_range((unsigned)fd, ~0u, 0) == 0);
}

static void by_closefrom(int fd)
{
	closefrom(fd);
}

static void by_fclose(int fd)
{
	FILE *stream = fdopen(fd, "r");

	MUST(stream && !fclose(stream));
}

static void by_number(int fd)
{
	MUST(!syscall(SYS_close, fd));
}

static void (*closes)(int fd) = by_close;

static void read_half(void)
{
	int fd = begin();

	read_down(fd, size, size / 2);
	closes(fd);
	if (closes == by_dup2 || closes == by_dup3)
		return;
	MUST(fcntl(fd, F_GETFD) == -1);
}

/* More than the thread asks for itself: the helper has a part in it. */
static void read_long(void)
{
	int fd = begin();

	MUST(pread(fd, buf, 16 * MIB, 0) == (ssize_t)(16 * MIB) && right(buf, 0, 16 * MIB));
	MUST(!close(fd));
}

/* Who has the file open besides us?  A write lease is refused for anybody. */
static bool unused(void)
{
	int fd = open(path, O_RDONLY);
	bool granted = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;

	MUST(granted || errno == EAGAIN);
	MUST(!close(fd));
	return granted;
}

/*
 * On a machine that is busy the two milliseconds that close() waits may be too few; not
 * often, though, or it does not wait at all.
 */
static bool soon_unused(void)
{
	for (int tries = 0; tries < 30; tries++) {
		if (unused())
			return true;
		usleep(10000);
	}
	return false;
}

static void lease_after(void (*reading)(void))
{
	int refused = 0;

	for (int i = 0; i < 20; i++) {
		int tries = 0;

		reading();
		while (!unused()) {
			usleep(10000);
			MUST(++tries < 100);
		}
		refused += tries > 0;
	}
	if (refused > 4)
		die("%d of 20 leases were refused at first", refused);
}

static void leased(void)
{
	lease_after(read_half);
}

/* On the very descriptor that is led; and reading on does not break the lease. */
static void lease_in_use(void)
{
	int fd = begin();

	read_down(fd, size, size / 2);
	MUST(fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
	read_down(fd, size / 2, 0);
	MUST(fcntl(fd, F_GETLEASE) == F_WRLCK);
	MUST(fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
	MUST(!close(fd));
	/* One that was there before anything was read. */
	fd = begin();
	MUST(fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
	read_down(fd, size, 0);
	usleep(20000);
	MUST(fcntl(fd, F_GETLEASE) == F_WRLCK);
	MUST(!close(fd));
}

/* Whoever asks that the time of the last access stays gets that. */
static void not_accessed(void)
{
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_nsec = UTIME_OMIT } };
	struct stat st;
	int fd;

	MUST(!close(begin()));
	MUST(!utimensat(AT_FDCWD, path, old, 0));
	fd = open(path, O_RDONLY | O_NOATIME);
	MUST(fd >= 0);
	read_down(fd, size, 0);
	MUST(!fstat(fd, &st) && st.st_atim.tv_sec == 1000000000);
	MUST(!close(fd));
}

/* Runtimes look for threads that they do not know after a fork. */
static void counted(void)
{
	int fd = begin(), status;

	read_down(fd, size, size / 2);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(tasks() != 1);
		MUST(tasks() == 1);
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
	read_down(fd, size / 2, 0);
	MUST(!close(fd));
}

static void otherwise_closed(void)
{
	static void (*const ways[])(int) = { by_dup2,	   by_dup3,   by_close_range,
					     by_closefrom, by_fclose, by_number };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		closes = ways[i];
		leased();
	}
}

/* What was said of a descriptor does not hold for what has its number later. */
static void forgotten(void)
{
	static void (*const ways[])(int) = { by_close, by_dup2, by_close_range, by_closefrom };

	for (int i = 0; i < 4; i++) {
		int fd = begin(), other_one;

		MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
		if (ways[i] == by_dup2) {
			other_one = begin();
			MUST(dup2(other_one, fd) == fd && !close(other_one));
		} else {
			ways[i](fd);
			MUST(open(path, O_RDONLY) == fd);
		}
		read_down(fd, size, size / 2);
		MUST(!close(fd));
	}
}

/* The child of a vfork() has copies; what its parent reads is not let go of. */
static void borrowed(void)
{
	int fd = begin(), status;

	for (size_t at = size; at > 0; at -= size / 16) {
		pid_t pid;

		read_down(fd, at, at - size / 16);
		pid = vfork();
		if (!pid) {
			close(fd);
			dup2(2, fd);
			_exit(0);
		}
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
	MUST(!close(fd));
	MUST(soon_unused());
}

static void long_reads(void)
{
	lease_after(read_long);
}

static void umounted(void)
{
	int status;

	read_half();
	for (int tries = 0; tries < 20; tries++) {
		pid_t pid = vfork();

		if (!pid) {
			close(2);
			execlp("umount", "umount", more, NULL);
			_exit(9);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		if (status == 0) {
			printf("%d\n", tries);
			return;
		}
		usleep(10000);
	}
	die("still mounted");
}

/* Its blocks are free again when it is closed. */
static void unlinked(void)
{
	struct statfs before, after;
	int fd = begin();

	read_down(fd, size, size / 2);
	MUST(unlink(path) == 0);
	MUST(fstatfs(fd, &before) == 0);
	read_down(fd, size / 2, 0);
	MUST(!close(fd));
	for (int tries = 0; tries < 100; tries++) {
		MUST(statfs(more, &after) == 0);
		if ((after.f_bfree - before.f_bfree) * (size_t)after.f_bsize >= size / 2)
			return;
		usleep(10000);
	}
	die("its blocks are not free");
}

/* The number belongs to another file, and to no file, without a close() that we see. */
static void replaced(void)
{
	int fd = begin(), ends[2], high = 40;

	MUST(syscall(SYS_close_range, high, ~0U, 0) == 0);
	at_start = entries("/proc/self/fd") - 1;
	for (int round = 0; round < 4; round++) {
		MUST(dup2(fd, high) == high);
		chill(path);
		read_down(high, size, size / 2);
		MUST(pipe(ends) == 0 && write(ends[1], "0123456789", 10) == 10);
		if (round % 2)
			MUST(syscall(SYS_close_range, high, high, 0) == 0);
		MUST(dup2(ends[0], high) == high);
		MUST(read(high, buf, PIECE) == 10 && !memcmp(buf, "0123456789", 10));
		MUST(pread(high, buf, PIECE, 0) == -1 && errno == ESPIPE);
		MUST(dup2(fd, high) == high);
		read_down(high, size / 2, 0);
		MUST(syscall(SYS_close_range, high, ~0U, 0) == 0);
		MUST(read(high, buf, PIECE) == -1 && errno == EBADF);
		MUST(!close(ends[0]) && !close(ends[1]));
	}
	MUST(entries("/proc/self/fd") == at_start + 1);
}

/* -- Processes, threads, signals ------------------------------------------------------ */

static void forked(void)
{
	int fd = begin(), status;
	pid_t pid;

	read_down(fd, size, size / 2);
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		MUST(tasks() == 1 && entries("/proc/self/fd") == at_start + 1);
		read_down(fd, size / 2, size / 4);
		chill(path);
		read_down(fd, size, 0);
		MUST(!close(fd));
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	chill(path);
	read_down(fd, size / 2, 0);
	MUST(entries("/proc/self/fd") == at_start + 1);
	MUST(!close(fd));
	MUST(soon_unused());
}

static void executed(void)
{
	int fd = begin();
	char number[20];

	read_down(fd, size, size / 2);
	snprintf(number, sizeof(number), "%d", fd);
	execl(self, self, "continued", path, number, NULL);
	die("exec");
}

static void continued(void)
{
	int fd = atoi(more);
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	MUST(tasks() == 1);
	read_down(fd, size / 2, 0);
	printf("descriptors: %d\n", entries("/proc/self/fd"));
}

static int cancelled, blocked[2];

static void count(void *unused_arg)
{
	(void)unused_arg;
	__atomic_fetch_add(&cancelled, 1, __ATOMIC_RELAXED);
}

static void *waits(void *arg)
{
	pthread_cleanup_push(count, NULL);
	/* Cold reads first: its last one is what it is cancelled in. */
	if ((size_t)arg % 100 == 0)
		reads_quarter((void *)((size_t)arg / 100 % 4));
	if ((size_t)arg % 2)
		(void)!read(blocked[0], &arg, 1);
	else
		(void)!readv(blocked[0], &(struct iovec){ &arg, 1 }, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancels(void)
{
	void *result;

	shared_fd = begin();
	MUST(pipe(blocked) == 0);
	read_down(shared_fd, size, size / 2);
	for (size_t i = 0; i < 1000; i++) {
		pthread_t t;

		MUST(pthread_create(&t, NULL, waits, (void *)i) == 0);
		if (i % 3)
			sched_yield();
		MUST(pthread_cancel(t) == 0 && pthread_join(t, &result) == 0);
		MUST(result == PTHREAD_CANCELED);
	}
	/* Those cancelled before they had begun have nothing to clean up. */
	MUST(cancelled > 100);
	MUST(!close(shared_fd));
}

static volatile int caught;

static void on_alarm(int sig)
{
	(void)sig;
	caught++;
}

/* A handler may read, too. */
static void reading_handler(int sig)
{
	static char own[4096];
	size_t at = (size_t)caught * 4096 % size;

	(void)sig;
	if (pread(shared_fd, own, 4096, (off_t)at) != 4096 || !right(own, at, 4096))
		_exit(9);
	caught++;
}

static void interrupts(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval soon = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	int ends[2];

	MUST(pipe(ends) == 0);
	for (int pass = 0; pass < 2; pass++) {
		shared_fd = begin();
		sa.sa_handler = pass ? reading_handler : on_alarm;
		MUST(sigaction(SIGALRM, &sa, NULL) == 0);
		setitimer(ITIMER_REAL, &soon, NULL);
		read_down(shared_fd, size, 0);
		for (int i = 0; i < 20; i++)
			MUST(read(ends[0], buf, PIECE) == -1 && errno == EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		MUST(caught >= 20);
		MUST(!close(shared_fd));
	}
}

static void confined(void)
{
	int fd = begin();

	read_down(fd, size, size / 2);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(tasks() == 1);
	chill(path);
	read_down(fd, size, 0);
	MUST(!close(fd));
	MUST(tasks() == 1 && soon_unused());
}

/* As strict as it gets: anything but read, write and the end of the thread kills. */
static void strict(void)
{
	int fd = begin(), again = open(path, O_RDONLY);

	MUST(again >= 0);
	read_down(fd, size, size / 2);
	MUST(prctl(PR_SET_SECCOMP, 1) == 0);
	for (size_t at = 0; at < size; at += PIECE)
		if (read(again, buf, PIECE) != (ssize_t)PIECE || !right(buf, at, PIECE))
			syscall(SYS_exit, 1L);
	(void)!write(1, "still right\n", 12);
	syscall(SYS_exit, 0L);
}

/* Until something cold is read there is nothing to be seen of the library. */
static void unseen(void)
{
	int fd = begin();

	for (size_t at = 0; at < 100; at++)
		MUST(pread(fd, buf, 1024, (off_t)(at * 1024)) == 1024);
	for (int pass = 0; pass < 3; pass++) {
		/* The first pass is the program's own readahead. */
		if (!pass)
			posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		read_range(fd, 0, size);
		posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
		printf("%d threads, %d descriptors more\n", tasks(),
		       entries("/proc/self/fd") - at_start);
	}
	MUST(!close(fd));
}

static void plain(void)
{
	int fd = begin();

	read_down(fd, size, 0);
	MUST(entries("/proc/self/fd") == at_start + 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "calls", every_call },   { "interleaved", interleaved },
		{ "threads", threads },	   { "duplicates", duplicates },
		{ "direct", direct },	   { "others", others },
		{ "written", written },	   { "punched", punched },
		{ "cut", cut },		   { "leased", leased },
		{ "lease", lease_in_use }, { "accessed", not_accessed },
		{ "counted", counted },
		{ "long", long_reads },	   { "otherwise", otherwise_closed },
		{ "forgotten", forgotten }, { "borrowed", borrowed },
		{ "umounted", umounted },  { "unlinked", unlinked },
		{ "replaced", replaced },  { "forked", forked },
		{ "executed", executed },  { "continued", continued },
		{ "cancels", cancels },	   { "interrupts", interrupts },
		{ "confined", confined },  { "strict", strict },
		{ "unseen", unseen },	   { "plain", plain },
	};

	MUST(argc >= 3);
	self = argv[0];
	path = argv[2];
	more = argv[3];
	at_start = entries("/proc/self/fd");
	buf = anon(16 * MIB);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		kinds[i].run();
		return 0;
	}
	return 2;
}

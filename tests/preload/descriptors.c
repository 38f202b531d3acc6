/* SPDX-License-Identifier: MIT */
/* descriptors KIND FILE [MOUNT POINT]: single questions about descriptors and locks. */
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "host.h"

static char *path, *mount_point, *self;
static int at_start; /* open descriptors, with that of opendir() */

/* A mapping that has just been read cold in part; a helper is busy with it. */
static struct view begin(void)
{
	struct view v;

	chill(path);
	v = view_of(path, PROT_READ, MAP_PRIVATE);
	read_all(&v, 0, 16 * MIB, 4 * MIB);
	return v;
}

static void plain(void)
{
	struct view v = begin();

	read_all(&v, 16 * MIB, v.size, 4 * MIB);
}

static void memory(void)
{
	char line[256];
	long peak = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &peak) == 1)
			break;
	printf("more than 4 MiB: %d\n", peak > 4096);
}

static void numbers(void)
{
	int lowest = dup(0);
	struct view v = (close(lowest), begin());
	int next = open("/dev/null", O_RDONLY);

	MUST(v.fd == lowest && next > v.fd);
	MUST(entries("/proc/self/fd") == at_start + 2);
	read_all(&v, 16 * MIB, v.size, 4 * MIB);
	MUST(entries("/proc/self/fd") == at_start + 2);
	close(next);
	MUST(open("/dev/null", O_RDONLY) == next);
}

/* Known bytes go through sockets which have every number that anybody might think of. */
static void talk(const struct view *v)
{
	enum { PAIRS = 40 };
	int pair[PAIRS][2];
	char in[64], out[64];

	for (int i = 0; i < PAIRS; i++)
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]) == 0);
	for (size_t at = 16 * MIB; at + 2 * MIB <= v->size; at += 2 * MIB) {
		for (int i = 0; i < PAIRS; i++) {
			memset(out, i + 1, sizeof(out));
			MUST(write(pair[i][0], out, sizeof(out)) == sizeof(out));
		}
		read_all(v, at, at + 2 * MIB, 2 * MIB);
		for (int i = 0; i < PAIRS; i++) {
			memset(out, i + 1, sizeof(out));
			MUST(read(pair[i][1], in, sizeof(in)) == sizeof(in));
			MUST(!memcmp(in, out, sizeof(in)));
			MUST(recv(pair[i][1], in, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
			MUST(recv(pair[i][0], in, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
		}
	}
}

static void closefrom_3(void)
{
	struct view v = begin();

	MUST(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	talk(&v);
}

static void replaced(void)
{
	struct view v = begin();
	int pair[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 3; i < 64; i++)
		if (i != pair[0] && i != pair[1])
			MUST(dup2(pair[0], i) == i);
	read_all(&v, 16 * MIB, 32 * MIB, 4 * MIB);
	for (int i = 3; i < 64; i++)
		close(i);
	talk(&v);
}

static void other(void)
{
	struct view v;
	int fd;

	chill(path);
	v = view_of(path, PROT_READ, MAP_PRIVATE);
	MUST(close(v.fd) == 0);
	fd = open("/bin/sh", O_RDONLY);
	MUST(fd == v.fd);
	read_all(&v, 0, v.size, 4 * MIB);
	MUST(lseek(fd, 0, SEEK_CUR) == 0);
}

/* Does another process see this lock? */
static bool locked(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 100 };
		int fd = open(path, O_RDWR);

		_exit(fd < 0 || fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status == 0;
}

static void lock(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 100 };
	struct view v;
	int fd = open(path, O_RDWR);

	MUST(fd >= 0 && fcntl(fd, F_SETLK, &l) == 0);
	v = view_of(path, PROT_READ, MAP_SHARED);
	for (size_t at = 0; at < v.size; at += 8 * MIB) {
		read_all(&v, at, at + 8 * MIB, 4 * MIB);
		MUST(locked());
	}
	/* While the helper lets go, too. */
	MUST(munmap(v.at, v.size) == 0);
	for (int i = 0; i < 20; i++) {
		MUST(locked());
		usleep(1000);
	}
}

/* As soon as it is closed, the next process may have the lock. */
static void flock_freed(void)
{
	for (int i = 0; i < 60; i++) {
		struct view v;
		int status;
		pid_t pid;

		if (i % 10 == 0)
			chill(path);
		v = view_of(path, PROT_READ, MAP_PRIVATE);
		MUST(flock(v.fd, LOCK_EX) == 0);
		read_all(&v, 0, 8 * MIB, 4 * MIB);
		/* The mapping holds the open file as well. */
		MUST(munmap(v.at, v.size) == 0);
		MUST(close(v.fd) == 0);
		pid = fork();
		if (!pid)
			_exit(flock(open(path, O_RDONLY), LOCK_EX | LOCK_NB) != 0);
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void exec(void)
{
	const char *left = getenv("ROUNDS");
	int n = left ? atoi(left) : 20;
	char text[16];

	MUST(!left || at_start == atoi(getenv("DESCRIPTORS")));
	MUST(tasks() == 1);
	snprintf(text, sizeof(text), "%d", at_start);
	setenv("DESCRIPTORS", text, 1);
	if (!n) {
		plain();
		return;
	}
	snprintf(text, sizeof(text), "%d", n - 1);
	setenv("ROUNDS", text, 1);
	/* Ours is close-on-exec; the library's are not even here. */
	fcntl(begin().fd, F_SETFD, FD_CLOEXEC);
	execl(self, self, "exec", path, NULL);
	die("exec");
}

static void execfail(void)
{
	struct view v = begin();

	for (size_t at = 16 * MIB; at < v.size; at += 4 * MIB) {
		MUST(execl("/nonexistent", "x", NULL) == -1 && errno == ENOENT);
		read_all(&v, at, at + 4 * MIB, MIB);
	}
}

static void unlinked(void)
{
	char name[4096];
	struct stat st;
	struct view v;
	char *buf = anon(MIB);
	int fd;

	snprintf(name, sizeof(name), "%s.unlinked", path);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0);
	for (size_t at = 0; at < 24 * MIB; at += MIB) {
		for (size_t i = 0; i < MIB; i += 8)
			*(uint64_t *)(void *)(buf + i) = word_at(at + i);
		MUST(write(fd, buf, MIB) == (ssize_t)MIB);
	}
	fsync(fd);
	chill(name);
	v = view_of(name, PROT_READ, MAP_PRIVATE);
	close(fd);
	close(v.fd);
	MUST(unlink(name) == 0 && stat(name, &st) == -1);
	read_all(&v, 0, v.size, 4 * MIB);
}

/*
 * Another process unmounts when we have no more of it.  The helper lets go without being
 * waited for, so it may take a moment, but none that anybody would notice.
 */
static void umounted(void)
{
	struct view v = begin();
	int status;
	pid_t pid;

	read_all(&v, 16 * MIB, 24 * MIB, 4 * MIB);
	MUST(munmap(v.at, v.size) == 0);
	MUST(close(v.fd) == 0);
	for (int tries = 0; tries < 20; tries++) {
		pid = vfork();
		if (!pid) {
			close(2);
			execlp("umount", "umount", mount_point, NULL);
			_exit(9);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		if (status == 0)
			return;
		usleep(10000);
	}
	die("still mounted");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "plain", plain },	   { "memory", memory },       { "numbers", numbers },
		{ "closefrom", closefrom_3 }, { "replaced", replaced }, { "other", other },
		{ "lock", lock },	   { "flock", flock_freed },   { "exec", exec },
		{ "execfail", execfail },  { "unlinked", unlinked },   { "umount", umounted },
	};

	MUST(argc >= 3);
	self = argv[0];
	at_start = entries("/proc/self/fd");
	path = argv[2];
	mount_point = argv[3];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		kinds[i].run();
		return 0;
	}
	return 2;
}

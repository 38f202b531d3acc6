/* SPDX-License-Identifier: MIT */
/* errors FILE: the result and errno of every wrapped call, right and wrong, as a table. */
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "host.h"

#define SHOW(call)                                                          \
	do {                                                                \
		long result;                                                \
									    \
		errno = 77;                                                 \
		result = (long)(call);                                      \
		printf("%s: %ld, errno %d\n", #call, result, errno);        \
	} while (0)

/* An address tells nothing: only whether it is one. */
#define SHOW_AT(call)                                                       \
	do {                                                                \
		void *result;                                               \
									    \
		errno = 77;                                                 \
		result = (call);                                            \
		printf("%s: %s, errno %d\n", #call,                         \
		       result == MAP_FAILED ? "failed" : "done",            \
		       errno);                                              \
	} while (0)

static char buf[4 * MIB];

static void mappings(const struct view *v)
{
	int write_only = open("/dev/null", O_WRONLY), o_path = open("/tmp", O_PATH);
	char *at = v->at;
	char *spare = anon(4 * MIB);

	SHOW_AT(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, v->fd, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, 9999, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, -1, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, v->fd, 1));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, 0, v->fd, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, write_only, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, o_path, 0));
	SHOW_AT(mmap(NULL, (size_t)1 << 60, PROT_READ, MAP_PRIVATE, v->fd, 0));
	SHOW_AT(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, v->fd, (off_t)1 << 50));
	SHOW_AT(mmap64(NULL, MIB, PROT_READ, MAP_PRIVATE, v->fd, 4096));
	SHOW_AT(mmap(spare, MIB, PROT_READ, MAP_PRIVATE | MAP_FIXED, v->fd, 0));
	SHOW_AT(mmap(spare, MIB, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, v->fd, 0));
	SHOW(munmap(spare + 1, MIB));
	SHOW(munmap(spare, 0));
	SHOW(munmap(spare, 4 * MIB));
	SHOW(munmap(spare, 4 * MIB));
	SHOW_AT(mremap(at, MIB, (size_t)1 << 60, 0));
	SHOW_AT(mremap(at + 1, MIB, MIB, 0));
	SHOW_AT(mremap(spare, MIB, 2 * MIB, MREMAP_MAYMOVE));
	SHOW_AT(mremap(at, 2 * MIB, 2 * MIB, MREMAP_FIXED, spare));
	SHOW_AT(mremap(at, 2 * MIB, 2 * MIB, MREMAP_FIXED | MREMAP_MAYMOVE, spare));
	MUST(right(spare, 0, 2 * MIB));
	SHOW_AT(mremap(spare, 2 * MIB, 2 * MIB, MREMAP_FIXED | MREMAP_MAYMOVE, at));
	SHOW(madvise(at, v->size, MADV_RANDOM));
	SHOW(madvise(at, v->size, MADV_NORMAL));
	SHOW(madvise(at, v->size, 12345));
	SHOW(madvise(at + 1, v->size, MADV_RANDOM));
	SHOW(posix_madvise(at, v->size, POSIX_MADV_SEQUENTIAL));
	SHOW(posix_madvise(at + 1, v->size, POSIX_MADV_RANDOM));
	SHOW(posix_madvise(at, v->size, POSIX_MADV_DONTNEED));
	SHOW(posix_madvise(at, v->size, 12345));
}

/* Everything twice: the second time it has been asked for already. */
static void advice(const struct view *v, const char *path)
{
	int pipes[2], write_only = open(path, O_WRONLY), o_path = open(path, O_PATH);
	int folder = open("/tmp", O_RDONLY), tty = open("/dev/null", O_RDWR);

	MUST(pipe(pipes) == 0);
	for (int i = 0; i < 2; i++) {
		const int fds[] = { v->fd, write_only, o_path,	  folder, tty,
				    -1,	   9999,       pipes[0], pipes[1] };

		for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++) {
			printf("descriptor %zu\n", f);
			SHOW(readahead(fds[f], 0, 65536));
			SHOW(readahead(fds[f], 4095, 2));
			SHOW(readahead(fds[f], 0, 0));
			SHOW(readahead(fds[f], -1, 4096));
			SHOW(readahead(fds[f], 0, (size_t)-1));
			SHOW(readahead(fds[f], 1L << 60, 4096));
			SHOW(posix_fadvise(fds[f], 0, 65536, POSIX_FADV_WILLNEED));
			SHOW(posix_fadvise64(fds[f], 0, 0, POSIX_FADV_WILLNEED));
			SHOW(posix_fadvise(fds[f], 0, -1, POSIX_FADV_WILLNEED));
			SHOW(posix_fadvise(fds[f], -4096, 4096, POSIX_FADV_WILLNEED));
			SHOW(posix_fadvise(fds[f], 0, 4096, POSIX_FADV_DONTNEED));
			SHOW(posix_fadvise(fds[f], 0, 0, POSIX_FADV_NORMAL));
			SHOW(posix_fadvise(fds[f], 0, 0, 12345));
		}
		SHOW(madvise(v->at, v->size, MADV_WILLNEED));
		SHOW(madvise(v->at + 1, v->size, MADV_WILLNEED));
		SHOW(madvise(v->at, 0, MADV_WILLNEED));
		SHOW(madvise(v->at, v->size + MIB, MADV_WILLNEED));
		SHOW(posix_madvise(v->at, v->size, POSIX_MADV_WILLNEED));
		SHOW(posix_madvise(v->at + 1, v->size, POSIX_MADV_WILLNEED));
		SHOW(madvise(v->at, 4096, MADV_PAGEOUT));
	}
}

static void others(void)
{
	int six = 6;

	SHOW(prctl(PR_SET_NAME, "renamed"));
	SHOW(prctl(PR_GET_DUMPABLE));
	SHOW(prctl(123456, 1, 2, 3, 4));
	SHOW(syscall(SYS_getppid) == getppid());
	SHOW(syscall(SYS_close, 9999));
	SHOW(syscall(123456));
	SHOW(syscall(SYS_futex, &six, 0, 5, NULL, NULL, 0));
	SHOW(setns(9999, 0));
	SHOW(unshare(-1));
	SHOW(setuid(getuid()));
	SHOW(setgid(getgid()));
	SHOW(seteuid(geteuid()));
	SHOW(setegid(getegid()));
	SHOW(setreuid((uid_t)-1, (uid_t)-1));
	SHOW(setregid((gid_t)-1, (gid_t)-1));
	SHOW(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
	SHOW(setresgid((gid_t)-1, (gid_t)-1, (gid_t)-1));
	SHOW(setgroups(1 << 20, NULL));
	SHOW(umount("/nonexistent"));
	SHOW(umount2("/nonexistent", 12345));
	SHOW(prctl(PR_SET_SECCOMP, 12345));
	SHOW(prctl(PR_GET_SECCOMP));
}

int main(int argc, char **argv)
{
	int at_start = errno;
	struct view v;

	MUST(argc == 2);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("errno at main: %d\n", at_start);
	chill(argv[1]);
	v = view_of(argv[1], PROT_READ, MAP_PRIVATE);
	/* Cold, so that the library is at work; what it does must not show. */
	for (size_t at = 0; at + sizeof(buf) <= v.size; at += sizeof(buf)) {
		errno = 77;
		copy(buf, v.at + at, sizeof(buf));
		MUST(errno == 77);
		MUST(right(buf, at, sizeof(buf)));
	}
	advice(&v, argv[1]);
	mappings(&v);
	others();
	return 0;
}

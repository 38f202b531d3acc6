/* SPDX-License-Identifier: MIT */
/* errors FILE: the result and errno of every wrapped call, right and wrong, as a table. */
#include <grp.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

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

extern ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
extern ssize_t __pread_chk(int fd, void *to, size_t n, off_t offset, size_t room);
extern ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t offset, size_t room);

static void *volatile nowhere = (void *)8;

/* Every way to read of this descriptor, right and wrong. */
static void reads_of(int fd)
{
	struct iovec good[2] = { { buf, MIB }, { buf + MIB, 100 } };
	struct iovec half[2] = { { buf, 4096 }, { nowhere, 4096 } };
	struct iovec endless[2] = { { buf, 4096 }, { buf, SIZE_MAX } };

	SHOW(read(fd, buf, 4096));
	SHOW(read(fd, buf, 0));
	SHOW(read(fd, buf, MIB));
	SHOW(read(fd, nowhere, 4096));
	SHOW(read(fd, nowhere, MIB));
	SHOW(read(fd, buf, SIZE_MAX));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(__read_chk(fd, buf, MIB, sizeof(buf)));
	SHOW(__read_chk(fd, buf, MIB, MIB));
	SHOW(pread(fd, buf, MIB, 4096));
	SHOW(pread(fd, buf, 0, 4096));
	SHOW(pread(fd, buf, MIB, -1));
	SHOW(pread(fd, buf, MIB, -4096));
	SHOW(pread64(fd, buf, MIB, 1L << 62));
	SHOW(pread64(fd, buf, MIB, LONG_MAX));
	SHOW(pread64(fd, nowhere, MIB, 0));
	SHOW(__pread_chk(fd, buf, MIB, 0, sizeof(buf)));
	SHOW(__pread64_chk(fd, buf, MIB, 12345, MIB));
	SHOW(readv(fd, good, 2));
	SHOW(readv(fd, half, 2));
	SHOW(readv(fd, endless, 2));
	SHOW(readv(fd, good, 0));
	SHOW(readv(fd, good, -1));
	SHOW(readv(fd, good, 100000));
	SHOW(readv(fd, nowhere, 2));
	SHOW(readv(fd, NULL, 2));
	SHOW(preadv(fd, good, 2, 2 * MIB));
	SHOW(preadv(fd, half, 2, 2 * MIB));
	SHOW(preadv(fd, good, 2, -1));
	SHOW(preadv(fd, nowhere, 2, 0));
	SHOW(preadv64(fd, good, 2, 1L << 62));
	SHOW(preadv64(fd, good, -1, 0));
	SHOW(preadv2(fd, good, 2, 3 * MIB, 0));
	SHOW(preadv2(fd, good, 2, -1, 0));
	SHOW(preadv2(fd, good, 2, -2, 0));
	SHOW(preadv2(fd, good, 2, 0, 1 << 20));
	SHOW(preadv64v2(fd, nowhere, 2, 0, 0));
	SHOW(lseek(fd, 0, SEEK_CUR));
}

/* And without a buffer; what goes into the pipe is taken out again. */
static void transfers_of(int fd, int out, const int pipes[2])
{
	off64_t offset = 4096, negative = -1, far = 1L << 62;

	SHOW(sendfile(out, fd, &offset, MIB));
	printf("offset %ld\n", (long)offset);
	SHOW(sendfile(out, fd, NULL, MIB));
	SHOW(sendfile64(out, fd, &negative, MIB));
	SHOW(sendfile64(out, fd, &far, MIB));
	SHOW(sendfile64(out, fd, (off64_t *)nowhere, MIB));
	SHOW(sendfile(-1, fd, NULL, MIB));
	SHOW(sendfile(fd, out, NULL, MIB));
	SHOW(sendfile(out, fd, NULL, 0));
	SHOW(copy_file_range(fd, &offset, out, NULL, MIB, 0));
	printf("offset %ld\n", (long)offset);
	SHOW(copy_file_range(fd, NULL, out, NULL, MIB, 0));
	SHOW(copy_file_range(fd, NULL, fd, NULL, MIB, 0));
	SHOW(copy_file_range(fd, NULL, out, NULL, MIB, 1));
	SHOW(copy_file_range(fd, nowhere, out, NULL, MIB, 0));
	SHOW(copy_file_range(fd, NULL, out, nowhere, MIB, 0));
	SHOW(splice(fd, &offset, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK));
	printf("offset %ld\n", (long)offset);
	SHOW(read(pipes[0], buf, MIB));
	SHOW(splice(fd, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK));
	SHOW(read(pipes[0], buf, MIB));
	SHOW(splice(fd, nowhere, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK));
	SHOW(splice(fd, NULL, pipes[1], &offset, 4096, SPLICE_F_NONBLOCK));
	SHOW(splice(fd, NULL, pipes[1], NULL, 4096, 1 << 20));
	SHOW(splice(fd, NULL, fd, NULL, 4096, 0));
	SHOW(splice(pipes[0], NULL, out, NULL, 4096, SPLICE_F_NONBLOCK));
	SHOW(lseek(fd, 0, SEEK_CUR));
}

/* Where a stream and its descriptor are, and what has been read of it. */
static void show_stream(FILE *stream, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)buf[i];
	printf("sum %u, eof %d, error %d, at %ld, descriptor at %ld\n", sum, !!feof(stream),
	       !!ferror(stream), ftell(stream), (long)lseek(fileno(stream), 0, SEEK_CUR));
	clearerr(stream);
}

#define SHOW_STREAM(call, n)               \
	do {                               \
		SHOW(call);                \
		show_stream(stream, n);    \
	} while (0)

static void reads_of_stream(FILE *stream)
{
	SHOW_STREAM(fread(buf, 1, 100, stream), 100);
	SHOW_STREAM(fread(buf, 1, 0, stream), 0);
	SHOW_STREAM(fread(buf, 0, 100, stream), 0);
	SHOW_STREAM(fread(buf, 3, 5000, stream), 15000);
	SHOW_STREAM(fread_unlocked(buf, 7, 5000, stream), 35000);
	SHOW_STREAM(ungetc('x', stream), 0);
	SHOW_STREAM(fread(buf, 1, 5000, stream), 5000);
	SHOW_STREAM(fseek(stream, 123456, SEEK_SET), 0);
	SHOW_STREAM(fread(buf, 1, MIB, stream), MIB);
	SHOW_STREAM(fread(buf, MIB, 2, stream), 2 * MIB);
	SHOW_STREAM(fseek(stream, -1000, SEEK_END), 0);
	SHOW_STREAM(fread(buf, 1, MIB, stream), 1000);
	SHOW_STREAM(fread(buf, 1, MIB, stream), 0);
	SHOW_STREAM(fgetc(stream), 0);
}

static void streams(const char *path)
{
	static const struct {
		const char *path, *mode;
		int buffering;
		size_t room;
	} kinds[] = {
		{ NULL, "r", _IOFBF, 0 },	 { NULL, "r", _IOFBF, 100 },
		{ NULL, "r", _IOFBF, 5000 },	 { NULL, "r", _IOFBF, MIB },
		{ NULL, "r", _IONBF, 0 },	 { NULL, "r", _IOLBF, 4096 },
		{ NULL, "re", _IOFBF, 0 },	 { NULL, "rm", _IOFBF, 0 },
		{ "/dev/zero", "r", _IOFBF, 0 }, { "/dev/null", "r+", _IOFBF, 0 },
		{ "/dev/null", "w", _IOFBF, 0 }, { "/tmp", "r", _IOFBF, 0 },
	};
	FILE *stream;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		stream = fopen(kinds[k].path ? kinds[k].path : path, kinds[k].mode);
		MUST(stream);
		if (kinds[k].buffering != _IOFBF || kinds[k].room)
			setvbuf(stream, NULL, kinds[k].buffering, kinds[k].room);
		printf("stream %zu\n", k);
		reads_of_stream(stream);
		SHOW(fclose(stream));
	}
	/* Of no descriptor at all. */
	stream = fmemopen(NULL, 65536, "w+");
	MUST(stream);
	SHOW(fwrite(buf, 1, 60000, stream));
	rewind(stream);
	SHOW(fread(buf, 1, 100, stream));
	SHOW(fread(buf, 1, MIB, stream));
	SHOW(fclose(stream));
	/* What was written is there. */
	stream = tmpfile();
	MUST(stream);
	SHOW(fwrite(buf, 1, MIB, stream));
	SHOW_STREAM(fread(buf, 1, 100, stream), 0);
	rewind(stream);
	reads_of_stream(stream);
	SHOW(close(fileno(stream)));
	SHOW(fread(buf, 1, 2 * MIB, stream));
	SHOW(fclose(stream));
}

/* None of the descriptors waits for anything. */
static void reads(const char *path)
{
	int pipes[2], spare[2], sockets[2];
	int out = memfd_create("out", 0);

	MUST(out >= 0 && !pipe2(pipes, O_NONBLOCK) && !pipe2(spare, O_NONBLOCK));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets));
	MUST(write(spare[1], "abc", 3) == 3 && write(sockets[1], "abc", 3) == 3);
	const int fds[] = {
		open(path, O_RDONLY), open(path, O_RDONLY | O_DIRECT), open("/dev/null", O_WRONLY),
		open(path, O_PATH), open("/tmp", O_RDONLY), open("/dev/null", O_RDWR),
		open("/dev/zero", O_RDONLY), open("/proc/self/cmdline", O_RDONLY), spare[0],
		pipes[1], sockets[0], -1, -2, 9999, 65534, 65535, 65536, INT_MAX, INT_MIN,
	};

	for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++) {
		printf("descriptor %zu\n", f);
		reads_of(fds[f]);
		transfers_of(fds[f], out, pipes);
	}
	/* A cold way through the file first, so that there is something to let go of. */
	for (size_t at = 8 * MIB; at > 0; at -= 65536)
		MUST(pread(fds[0], buf, 65536, (off_t)at - 65536) == 65536 &&
		     right(buf, at - 65536, 65536));
	for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++) {
		SHOW(close(fds[f]));
		SHOW(close(fds[f]));
		SHOW(read(fds[f], buf, MIB));
	}
	SHOW(dup2(out, out));
	SHOW(dup2(-1, out));
	SHOW(dup2(out, -1));
	SHOW(dup2(9999, 9999));
	SHOW(dup2(out, INT_MAX));
	SHOW(dup2(out, 900));
	SHOW(dup3(out, out, 0));
	SHOW(dup3(out, 901, O_CLOEXEC));
	SHOW(dup3(out, 902, 12345));
	SHOW(dup3(out, -1, 0));
	SHOW(fcntl(901, F_GETFD));
	SHOW(close_range(901, 900, 0));
	SHOW(close_range(900, 901, 12345));
	SHOW(close_range(900, 900, CLOSE_RANGE_CLOEXEC));
	SHOW(fcntl(900, F_GETFD));
	SHOW(close_range(900, 900, 0));
	SHOW(fcntl(900, F_GETFD));
	SHOW(close_range(UINT_MAX, UINT_MAX, 0));
	closefrom(901);
	SHOW(fcntl(901, F_GETFD));
	closefrom(INT_MAX);
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
	reads(argv[1]);
	chill(argv[1]);
	streams(argv[1]);
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

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "fake_world.h"

#define FIRST_OWN_FD 100

void fake_program_fd(int fd, int file)
{
	fake_fds[fd] = (struct fake_open){ .file1 = file + 1 };
}

void fake_seek(int fd, int64_t position)
{
	fake_fds[fd].position = position;
}

void fake_fail(enum fake_kind kind, uint64_t nth, int error, bool for_ever)
{
	fake.fail.kind = kind;
	fake.fail.nth = nth;
	fake.fail.error = error;
	fake.fail.for_ever = for_ever;
}

/* Counts a call; true when it is to fail. */
static bool fails(enum fake_kind kind)
{
	fake.count[kind]++;
	fake.count[FAKE_KINDS]++;
	if (!fake.fail.nth || (fake.fail.kind != FAKE_ANY && fake.fail.kind != kind))
		return false;
	if (fake.fail.nth > 1) {
		fake.fail.nth--;
		return false;
	}
	if (!fake.fail.for_ever)
		fake.fail.nth = 0;
	return true;
}

static long note(enum fake_kind kind, int file, uint64_t offset, uint64_t length,
		 long result)
{
	if (fake.logged < FAKE_MAX_LOG)
		fake.log[fake.logged++] =
			(struct fake_call){ kind, file, offset, length, result };
	return result;
}

/* -- The calls ----------------------------------------------------------------------- */

static struct fake_open *opened(int fd)
{
	if (fd >= 0 && fd < FAKE_MAX_FDS && fake_fds[fd].file1)
		return &fake_fds[fd];
	fake.foul++;
	return NULL;
}

static int new_fd(int file)
{
	for (int fd = FIRST_OWN_FD; fd < FAKE_MAX_FDS; fd++) {
		if (fake_fds[fd].file1)
			continue;
		fake_fds[fd] = (struct fake_open){ .file1 = file + 1 };
		return fd;
	}
	return -EMFILE;
}

unsigned fake_open_fds(void)
{
	unsigned n = 0;

	for (int fd = FIRST_OWN_FD; fd < FAKE_MAX_FDS; fd++)
		n += fake_fds[fd].file1 != 0;
	return n;
}

/* The file that a path leads to, -1 for none. */
static int lookup(const char *path)
{
	unsigned thread;
	int fd;

	if (sscanf(path, "/proc/self/task/%u/fd/%d", &thread, &fd) == 2)
		return thread != fake.dead_thread && fd >= 0 && fd < FIRST_OWN_FD
			       ? fake_fds[fd].file1 - 1
			       : -1;
	if (sscanf(path, "/proc/thread-self/fd/%d", &fd) == 1)
		return fd >= FIRST_OWN_FD && fd < FAKE_MAX_FDS ? fake_fds[fd].file1 - 1
							       : -1;
	return fake_by_path(path);
}

static int do_open(const char *path, int flags)
{
	int file;

	(void)flags;
	if (fails(FAKE_OPEN))
		return -fake.fail.error;
	file = lookup(path);
	return (int)note(FAKE_OPEN, file, 0, 0, file < 0 ? -ENOENT : new_fd(file));
}

static int do_close(int fd)
{
	struct fake_open *o = opened(fd);
	bool failed = fails(FAKE_CLOSE);

	/* As on Linux, a close that fails has closed it all the same. */
	if (!o)
		return -EBADF;
	o->file1 = 0;
	return failed ? -fake.fail.error : 0;
}

static ssize_t do_read(int fd, void *buf, size_t n)
{
	struct fake_open *o = opened(fd);
	const char *text;
	size_t left;

	if (fails(FAKE_READ))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	text = fake_files[o->file1 - 1].text;
	left = text ? strlen(text) - o->text_at : 0;
	n = n < left ? n : left;
	if (n)
		memcpy(buf, text + o->text_at, n);
	o->text_at += n;
	return (ssize_t)n;
}

static ssize_t do_write(int fd, const void *buf, size_t n)
{
	(void)fd;
	(void)buf;
	return fails(FAKE_WRITE) ? -fake.fail.error : (ssize_t)n;
}

static ssize_t do_preadv2(int fd, const struct iovec *iov, off_t offset, int flags)
{
	struct fake_open *o = opened(fd);

	(void)flags;
	if (fails(FAKE_PREADV2))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	if (fake.refuse_nowait)
		return -fake.refuse_nowait;
	return note(FAKE_PREADV2, o->file1 - 1, (uint64_t)offset, iov->iov_len,
		    fake_read_nowait(o, (uint64_t)offset, iov->iov_len));
}

static int do_fadvise(int fd, off_t offset, off_t length, int advice)
{
	struct fake_open *o = opened(fd);

	if (fails(FAKE_FADVISE))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	if (advice == POSIX_FADV_SEQUENTIAL) {
		o->sequential = true;
		return 0;
	}
	if (advice == POSIX_FADV_RANDOM) {
		o->random = true;
		return 0;
	}
	if (advice == POSIX_FADV_DONTNEED) {
		fake_evict(o->file1 - 1, (uint64_t)offset, (uint64_t)(offset + length));
		return (int)note(FAKE_FADVISE, o->file1 - 1, (uint64_t)offset,
				 (uint64_t)length, 0);
	}
	/* No length means "to the end": nobody of ours ever means that. */
	fake.foul += advice != POSIX_FADV_WILLNEED || length <= 0 || offset < 0;
	if (fake.on_advice)
		fake.on_advice(o->file1 - 1, (uint64_t)offset, (uint64_t)length);
	fake_read_advised(o->file1 - 1, (uint64_t)offset, (uint64_t)length);
	return (int)note(FAKE_FADVISE, o->file1 - 1, (uint64_t)offset, (uint64_t)length,
			 0);
}

static int do_madvise(uint64_t addr, uint64_t length, int advice)
{
	if (fails(FAKE_MADVISE))
		return -fake.fail.error;
	fake.foul += advice != MADV_WILLNEED || addr % wn_page_size() || !length ||
		     length % wn_page_size();
	for (int i = 0; i < fake_map_count; i++) {
		const struct fake_mapping *m = &fake_maps[i];
		uint64_t offset = addr - m->addr + m->offset;

		if (addr < m->addr || addr - m->addr >= m->length)
			continue;
		if (fake.on_advice)
			fake.on_advice(m->file, offset, length);
		fake_read_advised(m->file, offset, length);
		return (int)note(FAKE_MADVISE, m->file, addr, length, 0);
	}
	return (int)note(FAKE_MADVISE, -1, addr, length, -ENOMEM);
}

static int do_write_out(int fd, uint64_t offset, uint64_t length)
{
	fake.foul += !opened(fd) || offset % (2 << 20) || length != 2 << 20;
	fake.write_outs++;
	return 0;
}

static int do_cachestat(int fd, uint64_t offset, uint64_t length, struct wn_cachestat *out)
{
	struct fake_open *o = opened(fd);
	const struct fake_file *f;

	if (fails(FAKE_CACHESTAT))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	f = &fake_files[o->file1 - 1];
	memset(out, 0, sizeof(*out));
	for (uint64_t at = offset; at < offset + length && at < f->size; at += wn_page_size())
		out->cached += f->page && f->page[at / wn_page_size()] != FAKE_MISSING;
	return 0;
}

static int do_fstat(int fd, struct stat *out)
{
	struct fake_open *o = opened(fd);
	const struct fake_file *f;

	if (fails(FAKE_FSTAT))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	f = &fake_files[o->file1 - 1];
	memset(out, 0, sizeof(*out));
	out->st_dev = f->dev;
	out->st_ino = f->ino;
	out->st_size = (off_t)f->size;
	out->st_mode = f->mode;
	out->st_ctim.tv_sec = (time_t)f->changed;
	return 0;
}

static int do_fstatfs(int fd, struct statfs *out)
{
	struct fake_open *o = opened(fd);

	if (fails(FAKE_FSTATFS))
		return -fake.fail.error;
	if (!o)
		return -EBADF;
	memset(out, 0, sizeof(*out));
	out->f_type = fake_files[o->file1 - 1].magic;
	return 0;
}

static int do_getfl(int fd)
{
	if (fails(FAKE_GETFL))
		return -fake.fail.error;
	return fd >= 0 && fd < FAKE_MAX_FDS && fake_fds[fd].file1 ? fake.getfl : -EBADF;
}

static int do_has_lease(int fd)
{
	(void)fd;
	return fake.lease;
}

static int64_t do_position(int fd)
{
	struct fake_open *o = opened(fd);

	if (fails(FAKE_POSITION))
		return -fake.fail.error;
	return !o ? -EBADF : o->position < 0 ? -ESPIPE : o->position;
}

/* Time passes, and what was under way arrives. */
static int do_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	if (fails(FAKE_FUTEX_WAIT))
		return -fake.fail.error;
	if (*word != value)
		return -EAGAIN;
	fake.now_ns += timeout_ns;
	fake_arrive();
	return -ETIMEDOUT;
}

static int do_futex_wake(uint32_t *word, int count)
{
	(void)word;
	return count;
}

static uint64_t do_now(void)
{
	return fake.now_ns;
}

static void do_thread_reads(struct wn_thread_reads *out)
{
	*out = (struct wn_thread_reads){
		.faults = fake.major_faults,
		.blocks = fake.blocks,
		.waits = fake.waits,
	};
}

static int do_getpid(void)
{
	return fake.process;
}

static int do_gettid(void)
{
	return fake.thread;
}

static int do_alive(int tid)
{
	(void)tid;
	return 0;
}

/* Faults cannot be seen here; tests report them by hand. */
static int do_perf_open(void *attr, int tid)
{
	(void)attr;
	(void)tid;
	return -ENOSYS;
}

static int do_ioctl(int fd, unsigned long request, uint64_t arg)
{
	/* The only one that is known here is the one whose number begins with 'f'. */
	if ((request >> 8 & 0xff) != 'f' || !opened(fd))
		return -ENOSYS;
	fake.table_looks++;
	return fake_table_scan(arg);
}

static long do_map_shared(int fd, size_t length)
{
	(void)fd;
	(void)length;
	return -ENOSYS;
}

static int do_unmap(void *addr, size_t length)
{
	(void)addr;
	(void)length;
	return -ENOSYS;
}

static ssize_t do_pread(int fd, void *buf, size_t n, off_t offset)
{
	if (!opened(fd))
		return -EBADF;
	fake.table_looks++;
	return fake_table_read(buf, n, (uint64_t)offset);
}

static void do_process_reads(struct wn_process_reads *out)
{
	*out = (struct wn_process_reads){
		.major = fake.major_faults + fake.major_elsewhere,
		.minor = fake.minor_elsewhere,
	};
}

static int do_none(void)
{
	return -ENOSYS;
}

static int do_epoll_add(int epoll, int fd, void *event)
{
	(void)epoll;
	(void)fd;
	(void)event;
	return -ENOSYS;
}

static int do_epoll_wait(int epoll, void *events, int count)
{
	(void)epoll;
	(void)events;
	(void)count;
	return -ENOSYS;
}

static ssize_t do_getdents(int fd, void *buf, size_t n)
{
	(void)fd;
	(void)buf;
	(void)n;
	return -ENOSYS;
}

static long do_map_file(int fd, uint64_t offset, size_t length)
{
	(void)fd;
	(void)offset;
	(void)length;
	return -ENOSYS;
}

static int do_mincore(uint64_t addr, uint64_t length, unsigned char *vec)
{
	(void)addr;
	(void)length;
	(void)vec;
	return -ENOSYS;
}

static uint64_t do_memlock_limit(void)
{
	return UINT64_MAX;
}

static uint32_t do_geteuid(void)
{
	return 0;
}

const struct wn_sys fake_sys = {
	.open = do_open,
	.close = do_close,
	.read = do_read,
	.pread = do_pread,
	.write = do_write,
	.preadv2 = do_preadv2,
	.fadvise = do_fadvise,
	.madvise = do_madvise,
	.write_out = do_write_out,
	.cachestat = do_cachestat,
	.fstat = do_fstat,
	.fstatfs = do_fstatfs,
	.fcntl_getfl = do_getfl,
	.has_lease = do_has_lease,
	.position = do_position,
	.futex_wait = do_futex_wait,
	.futex_wake = do_futex_wake,
	.now_ns = do_now,
	.cpu_ns = do_now,
	.thread_reads = do_thread_reads,
	.process_reads = do_process_reads,
	.getpid = do_getpid,
	.gettid = do_gettid,
	.thread_alive = do_alive,
	.perf_open = do_perf_open,
	.ioctl = do_ioctl,
	.map_shared = do_map_shared,
	.unmap = do_unmap,
	.eventfd = do_none,
	.epoll_create = do_none,
	.epoll_add = do_epoll_add,
	.epoll_wait = do_epoll_wait,
	.getdents = do_getdents,
	.map_file = do_map_file,
	.mincore = do_mincore,
	.geteuid = do_geteuid,
	.memlock_limit = do_memlock_limit,
};

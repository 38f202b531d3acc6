/* SPDX-License-Identifier: MIT */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arch.h"

/* Newer than many headers; the same on every processor. */
#define SYS_CACHESTAT 451

static int sys_open(const char *path, int flags)
{
	return (int)wn_raw(SYS_openat, AT_FDCWD, path, flags, 0);
}

static int sys_close(int fd)
{
	return (int)wn_raw(SYS_close, fd);
}

static ssize_t sys_read(int fd, void *buf, size_t n)
{
	return wn_raw(SYS_read, fd, buf, n);
}

static ssize_t sys_pread(int fd, void *buf, size_t n, off_t offset)
{
	return wn_raw(SYS_pread64, fd, buf, n, offset);
}

static ssize_t sys_write(int fd, const void *buf, size_t n)
{
	return wn_raw(SYS_write, fd, buf, n);
}

static ssize_t sys_preadv2(int fd, const struct iovec *iov, off_t offset, int flags)
{
	/* The kernel takes the offset as two halves; on 64 bits the first holds all. */
	return wn_raw(SYS_preadv2, fd, iov, 1, offset, 0, flags);
}

static int sys_fadvise(int fd, off_t offset, off_t length, int advice)
{
	return (int)wn_raw(SYS_fadvise64, fd, offset, length, advice);
}

static int sys_write_out(int fd, uint64_t offset, uint64_t length)
{
	return (int)wn_raw(SYS_sync_file_range, fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

static int sys_madvise(uint64_t addr, uint64_t length, int advice)
{
	return (int)wn_raw(SYS_madvise, addr, length, advice);
}

static int sys_cachestat(int fd, uint64_t offset, uint64_t length, struct wn_cachestat *out)
{
	uint64_t range[2] = { offset, length };

	return (int)wn_raw(SYS_CACHESTAT, fd, range, out, 0);
}

static int sys_fstat(int fd, struct stat *out)
{
	return (int)wn_raw(SYS_fstat, fd, out);
}

static int sys_fstatfs(int fd, struct statfs *out)
{
	return (int)wn_raw(SYS_fstatfs, fd, out);
}

static int sys_fcntl_getfl(int fd)
{
	return (int)wn_raw(SYS_fcntl, fd, F_GETFL, 0);
}

static int sys_has_lease(int fd)
{
	return wn_raw(SYS_fcntl, fd, F_GETLEASE, 0) == F_WRLCK;
}

static int64_t sys_position(int fd)
{
	return wn_raw(SYS_lseek, fd, 0, SEEK_CUR);
}

static int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};

	return (int)wn_raw(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &ts, 0, 0);
}

static int sys_futex_wake(uint32_t *word, int count)
{
	return (int)wn_raw(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	wn_raw(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t sys_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t sys_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void sys_thread_reads(struct wn_thread_reads *out)
{
	struct rusage ru;

	ru.ru_majflt = 0;
	ru.ru_inblock = 0;
	ru.ru_nvcsw = 0;
	wn_raw(SYS_getrusage, 1 /* RUSAGE_THREAD */, &ru);
	out->faults = (uint64_t)ru.ru_majflt;
	out->blocks = (uint64_t)ru.ru_inblock;
	out->waits = (uint64_t)ru.ru_nvcsw;
}

static void sys_process_reads(struct wn_process_reads *out)
{
	struct rusage ru;

	ru.ru_minflt = 0;
	ru.ru_majflt = 0;
	ru.ru_inblock = 0;
	wn_raw(SYS_getrusage, 0 /* RUSAGE_SELF */, &ru);
	out->minor = (uint64_t)ru.ru_minflt;
	out->major = (uint64_t)ru.ru_majflt;
	out->blocks = (uint64_t)ru.ru_inblock;
}

static int sys_getpid(void)
{
	return (int)wn_raw(SYS_getpid);
}

static int sys_gettid(void)
{
	return (int)wn_raw(SYS_gettid);
}

static int sys_thread_alive(int tid)
{
	return wn_raw(SYS_tgkill, wn_raw(SYS_getpid), tid, 0) != -ESRCH;
}

static int sys_perf_open(void *attr, int tid)
{
	return (int)wn_raw(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int sys_ioctl(int fd, unsigned long request, uint64_t arg)
{
	return (int)wn_raw(SYS_ioctl, fd, request, arg);
}

static long sys_map_shared(int fd, size_t length)
{
	return wn_raw(SYS_mmap, 0, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int sys_unmap(void *addr, size_t length)
{
	return (int)wn_raw(SYS_munmap, addr, length);
}

static int sys_eventfd(void)
{
	return (int)wn_raw(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
}

static int sys_epoll_create(void)
{
	return (int)wn_raw(SYS_epoll_create1, O_CLOEXEC);
}

static int sys_epoll_add(int epoll, int fd, void *event)
{
	return (int)wn_raw(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, fd, event);
}

static int sys_epoll_wait(int epoll, void *events, int count)
{
	return (int)wn_raw(SYS_epoll_pwait, epoll, events, count, -1, 0, 0);
}

static ssize_t sys_getdents(int fd, void *buf, size_t n)
{
	return wn_raw(SYS_getdents64, fd, buf, n);
}

static long sys_map_file(int fd, uint64_t offset, size_t length)
{
	return wn_raw(SYS_mmap, 0, length, PROT_READ, MAP_SHARED, fd, offset);
}

static int sys_mincore(uint64_t addr, uint64_t length, unsigned char *vec)
{
	return (int)wn_raw(SYS_mincore, addr, length, vec);
}

static uint32_t sys_geteuid(void)
{
	return (uint32_t)wn_raw(SYS_geteuid);
}

static uint64_t sys_memlock_limit(void)
{
	struct rlimit limit = { 0 };

	wn_raw(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, &limit);
	return limit.rlim_cur;
}

const struct wn_sys wn_sys_linux = {
	.open = sys_open,
	.close = sys_close,
	.read = sys_read,
	.pread = sys_pread,
	.write = sys_write,
	.preadv2 = sys_preadv2,
	.fadvise = sys_fadvise,
	.write_out = sys_write_out,
	.madvise = sys_madvise,
	.cachestat = sys_cachestat,
	.fstat = sys_fstat,
	.fstatfs = sys_fstatfs,
	.fcntl_getfl = sys_fcntl_getfl,
	.has_lease = sys_has_lease,
	.position = sys_position,
	.futex_wait = sys_futex_wait,
	.futex_wake = sys_futex_wake,
	.now_ns = sys_now_ns,
	.cpu_ns = sys_cpu_ns,
	.thread_reads = sys_thread_reads,
	.process_reads = sys_process_reads,
	.getpid = sys_getpid,
	.gettid = sys_gettid,
	.thread_alive = sys_thread_alive,
	.perf_open = sys_perf_open,
	.ioctl = sys_ioctl,
	.map_shared = sys_map_shared,
	.unmap = sys_unmap,
	.eventfd = sys_eventfd,
	.epoll_create = sys_epoll_create,
	.epoll_add = sys_epoll_add,
	.epoll_wait = sys_epoll_wait,
	.getdents = sys_getdents,
	.map_file = sys_map_file,
	.mincore = sys_mincore,
	.geteuid = sys_geteuid,
	.memlock_limit = sys_memlock_limit,
};

const struct wn_sys *wn_sys = &wn_sys_linux;

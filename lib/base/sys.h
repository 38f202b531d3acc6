/* SPDX-License-Identifier: MIT */
/*
 * sys.h - the kernel and the clock, as a parameter.
 * Calls nothing but the kernel; every member returns 0 or a count, or a negative errno.
 * Promise: errno, signals and the program's descriptors are as before.  Unit tests put a
 * fake in wn_sys; nothing else ever changes it.
 */
#ifndef WN_SYS_H
#define WN_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>

/* In pages; as cachestat(2) fills it in. */
struct wn_cachestat {
	uint64_t cached;
	uint64_t dirty;
	uint64_t writeback;
	uint64_t evicted;
	uint64_t recently_evicted;
};

/* What the calling thread has had to read since it began. */
struct wn_thread_reads {
	uint64_t faults; /* major page faults */
	uint64_t blocks; /* of 512 bytes, readahead included; of devices of this machine */
	uint64_t waits;	 /* times that it gave up its processor, for whatever reason */
};

/* The same of all threads of the process, those that have ended too. */
struct wn_process_reads {
	uint64_t minor; /* page faults that found their page in the cache */
	uint64_t major;
	uint64_t blocks;
};

struct wn_sys {
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *buf, size_t n);
	ssize_t (*pread)(int fd, void *buf, size_t n, off_t offset);
	ssize_t (*write)(int fd, const void *buf, size_t n);
	ssize_t (*preadv2)(int fd, const struct iovec *iov, off_t offset, int flags);
	int (*fadvise)(int fd, off_t offset, off_t length, int advice);
	int (*write_out)(int fd, uint64_t offset, uint64_t length); /* begins it */
	int (*madvise)(uint64_t addr, uint64_t length, int advice);
	/* Since Linux 6.5, and only for who owns the file or may write it. */
	int (*cachestat)(int fd, uint64_t offset, uint64_t length, struct wn_cachestat *out);
	int (*fstat)(int fd, struct stat *out);
	int (*fstatfs)(int fd, struct statfs *out);
	int (*fcntl_getfl)(int fd);
	int (*has_lease)(int fd); /* for writing, which nobody may open the file during; 1 or 0 */
	int64_t (*position)(int fd); /* where read() would read */
	int (*futex_wait)(uint32_t *word, uint32_t value, uint64_t timeout_ns);
	int (*futex_wake)(uint32_t *word, int count);
	uint64_t (*now_ns)(void);	/* CLOCK_MONOTONIC */
	uint64_t (*cpu_ns)(void);	/* CLOCK_THREAD_CPUTIME_ID */
	void (*thread_reads)(struct wn_thread_reads *out);
	void (*process_reads)(struct wn_process_reads *out);
	int (*getpid)(void);
	int (*gettid)(void);
	int (*thread_alive)(int tid);	/* 1 until the kernel has removed the thread */
	/* For watch/, and to look at a mapping before there is a helper. */
	int (*perf_open)(void *attr, int tid); /* that thread on any processor */
	int (*ioctl)(int fd, unsigned long request, uint64_t arg);
	long (*map_shared)(int fd, size_t length); /* the address, or a negative errno */
	int (*unmap)(void *addr, size_t length);
	int (*eventfd)(void);
	int (*epoll_create)(void);
	int (*epoll_add)(int epoll, int fd, void *event);
	int (*epoll_wait)(int epoll, void *events, int count); /* however long it takes */
	ssize_t (*getdents)(int fd, void *buf, size_t n);
	long (*map_file)(int fd, uint64_t offset, size_t length); /* for mincore() */
	int (*mincore)(uint64_t addr, uint64_t length, unsigned char *vec);
	uint32_t (*geteuid)(void);
	uint64_t (*memlock_limit)(void); /* RLIMIT_MEMLOCK, in bytes */
};

extern const struct wn_sys *wn_sys;
extern const struct wn_sys wn_sys_linux;

#endif

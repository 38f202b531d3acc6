/* SPDX-License-Identifier: MIT */
/* Setting a pattern up, running its threads, measuring, printing. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sample {
	double wall, utime, stime;
	long majflt, minflt;
	long long read_bytes; /* -1: not known */
};

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* Bytes that this process caused to be read from the device, all threads together. */
static long long read_bytes(void)
{
	static const char key[] = "\nread_bytes: ";
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t got;
	char *at;

	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	at = strstr(text, key);
	return at ? strtoll(at + sizeof(key) - 1, NULL, 10) : -1;
}

static void take_sample(struct sample *s)
{
	struct rusage usage;
	struct timespec now;

	getrusage(RUSAGE_SELF, &usage);
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->wall = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	s->utime = seconds(&usage.ru_utime);
	s->stime = seconds(&usage.ru_stime);
	s->majflt = usage.ru_majflt;
	s->minflt = usage.ru_minflt;
	s->read_bytes = read_bytes();
}

static void *thread_main(void *arg)
{
	struct wl_thread *t = arg;

	t->err = t->w->pattern->run(t);
	return NULL;
}

static int advise_descriptor(int fd, unsigned choice)
{
	static const int advice[] = {
		[WL_NONE] = POSIX_FADV_NORMAL,
		[WL_ADV_RANDOM] = POSIX_FADV_RANDOM,
		[WL_ADV_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
	};

	if (choice == WL_NONE)
		return 0;
	if (choice == WL_ADV_HUGEPAGE)
		return -EINVAL;
	return -posix_fadvise(fd, 0, 0, advice[choice]);
}

static int map_file(struct wl *w)
{
	static const int advice[] = {
		[WL_NONE] = MADV_NORMAL,
		[WL_ADV_RANDOM] = MADV_RANDOM,
		[WL_ADV_SEQUENTIAL] = MADV_SEQUENTIAL,
		[WL_ADV_HUGEPAGE] = MADV_HUGEPAGE,
	};
	int prot = PROT_READ, flags = w->p.populate ? MAP_POPULATE : 0;

	if (!(w->pattern->needs & WL_NEEDS_MAP))
		return 0;
	if (w->pattern->needs & WL_NEEDS_WRITE) {
		prot |= PROT_WRITE;
		w->p.map = WL_PRIVATE;
	}
	flags |= w->p.map == WL_SHARED ? MAP_SHARED : MAP_PRIVATE;
	w->map = mmap(NULL, w->size, prot, flags, w->fd, 0);
	if (w->map == MAP_FAILED)
		return -errno;
	if (w->p.advice != WL_NONE && madvise(w->map, w->size, advice[w->p.advice]) < 0)
		return -errno;
	if (w->p.close_fd) {
		close(w->fd);
		w->fd = -1;
	}
	return 0;
}

/* The destination is touched before the clock starts: its page faults are not ours. */
static int make_buffer(struct wl_thread *t)
{
	const struct wl_params *p = &t->w->p;
	uint64_t want = p->piece;
	unsigned char *buf;

	if (p->lead > want)
		want = p->lead;
	if (p->tail > want)
		want = p->tail;
	if (p->lookups && want < WL_PAGE)
		want = WL_PAGE;
	t->dst_size = want + WL_PAGE;
	buf = mmap(NULL, t->dst_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		return -ENOMEM;
	/* 16 bytes after a page: where malloc puts a large block. */
	t->dst = buf + (p->aliased ? 0x10 : 0x810);
	return 0;
}

static void make_thread(struct wl *w, struct wl_thread *t, unsigned index)
{
	uint64_t share = (w->end - w->begin) / w->p.threads / w->p.stride * w->p.stride;

	t->w = w;
	t->index = index;
	t->random = w->p.seed + index;
	t->begin = w->begin;
	t->end = w->end;
	if (w->p.split == WL_RANGE && w->p.threads > 1) {
		t->begin = w->begin + share * index;
		if (index + 1 < w->p.threads)
			t->end = t->begin + share;
	}
}

/* The thread is at the beginning of the file that is open now. */
static int open_thread(struct wl_thread *t)
{
	struct wl *w = t->w;

	t->fd = w->fd;
	t->position = UINT64_MAX;	/* not known */
	t->k = t->lookups = t->asked = t->prologue = 0;
	if (w->pattern->needs & WL_NEEDS_LOG)
		t->fd = open(w->log_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	else if (w->p.own_fd)
		t->fd = open(w->path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0)
		return -errno;
	if (w->pattern->needs & WL_NEEDS_MAP)
		return 0;
	return advise_descriptor(t->fd, w->p.advice);
}

/* The parameters that depend on each other. */
static int settle(struct wl *w)
{
	struct wl_params *p = &w->p;

	if (!p->threads || p->threads > WL_THREADS_MAX || !p->step || p->start >= w->size)
		return -EINVAL;
	w->begin = p->start;
	w->end = p->length < w->size - p->start ? p->start + p->length : w->size;
	if (p->whole) {
		p->piece = (w->end - w->begin) / p->threads & ~(uint64_t)(WL_PAGE - 1);
		p->piece += p->piece ? 0 : w->end - w->begin;
	}
	if (!p->stride)
		p->stride = p->piece;
	if (!p->piece || !p->stride || !p->passes)
		return -EINVAL;
	/* Those of one file only know its name. */
	if (!p->files || (p->files > 1 && (p->own_fd || w->pattern->needs & WL_NEEDS_LOG)))
		return -EINVAL;
	if (w->pattern->needs & WL_NEEDS_LOG) {
		snprintf(w->log_path, sizeof(w->log_path), "%s.log", w->path);
		unlink(w->log_path);
	}
	if (p->run % p->stride || (p->skip && !p->run))
		return -EINVAL;
	return wl_shuffle(w);
}

static int run_threads(struct wl *w, struct wl_thread *threads)
{
	pthread_t ids[WL_THREADS_MAX];
	unsigned started = 0;
	int err = 0;

	/* A single reader is the process's own thread, as in most programs. */
	if (w->p.threads == 1) {
		thread_main(&threads[0]);
		return threads[0].err;
	}
	for (; started < w->p.threads && !err; started++)
		err = -pthread_create(&ids[started], NULL, thread_main,
				      &threads[started]);
	if (err)
		started--;
	for (unsigned i = 0; i < started; i++) {
		pthread_join(ids[i], NULL);
		if (!err)
			err = threads[i].err;
	}
	return err;
}

static void print_ns(const struct wl *w)
{
	double total = 0;

	fputs(",\"ns_of_each\":[", stdout);
	for (unsigned i = 0; i < w->ns_count; i++) {
		printf("%s%.3f", i ? "," : "", w->ns[i]);
		total += w->ns[i];
	}
	printf("],\"ns\":%.3f", total / w->ns_count);
}

static void print_result(const struct wl *w, const struct wl_thread *threads,
			 const struct sample *a, const struct sample *b)
{
	uint64_t sum = 0, bytes = 0, calls = 0;

	for (unsigned i = 0; i < w->p.threads; i++) {
		sum += threads[i].sum;
		bytes += threads[i].bytes;
		calls += threads[i].calls;
	}
	printf("{\"pattern\":\"%s\",\"threads\":%u,\"wall\":%.6f,\"utime\":%.6f,"
	       "\"stime\":%.6f,\"majflt\":%ld,\"minflt\":%ld,",
	       w->pattern->name, (unsigned)w->p.threads, b->wall - a->wall,
	       b->utime - a->utime, b->stime - a->stime, b->majflt - a->majflt,
	       b->minflt - a->minflt);
	if (a->read_bytes >= 0 && b->read_bytes >= 0)
		printf("\"read_bytes\":%lld,", b->read_bytes - a->read_bytes);
	printf("\"bytes\":%llu,\"calls\":%llu,\"checksum\":\"%016llx\"",
	       (unsigned long long)bytes, (unsigned long long)calls,
	       (unsigned long long)sum);
	if (w->ns_count)
		print_ns(w);
	puts("}");
}

/* Once, before the clock starts; what depends on the file is open_thread()'s. */
static int make_threads(struct wl *w, struct wl_thread *threads)
{
	int err = 0;

	for (unsigned i = 0; i < w->p.threads && !err; i++) {
		make_thread(w, &threads[i], i);
		err = make_buffer(&threads[i]);
	}
	return err;
}

/* The file is open, and so are the descriptors that threads have of their own. */
static int open_threads(struct wl *w, struct wl_thread *threads)
{
	int err = 0;

	for (unsigned i = 0; i < w->p.threads && !err; i++)
		err = open_thread(&threads[i]);
	/* It is gone with its last descriptor, however we end. */
	if (w->pattern->needs & WL_NEEDS_LOG)
		unlink(w->log_path);
	return err;
}

/* FILE.1 and so on; as large as FILE, which has been opened before the clock started. */
static int next_file(struct wl *w, uint64_t index)
{
	char path[PATH_MAX];
	struct stat st;

	if (w->map)
		munmap(w->map, w->size);
	if (w->fd >= 0)
		close(w->fd);
	snprintf(path, sizeof(path), "%s.%llu", w->path, (unsigned long long)index);
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return -errno;
	return (uint64_t)st.st_size == w->size ? 0 : -EINVAL;
}

static int run_files(struct wl *w, struct wl_thread *threads)
{
	int err = map_file(w);

	if (!err)
		err = run_threads(w, threads);
	for (uint64_t i = 1; i < w->p.files && !err; i++) {
		err = next_file(w, i);
		if (!err)
			err = open_threads(w, threads);
		if (!err)
			err = map_file(w);
		if (!err)
			err = run_threads(w, threads);
	}
	return err;
}

int wl_run(struct wl *w)
{
	struct wl_thread *threads;
	struct sample before, after;
	int err = settle(w);

	if (err)
		return err;
	threads = calloc(w->p.threads, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	err = make_threads(w, threads);
	if (!err)
		err = open_threads(w, threads);
	if (!err) {
		take_sample(&before);
		err = run_files(w, threads);
	}
	if (!err) {
		take_sample(&after);
		print_result(w, threads, &before, &after);
	}
	free(threads);
	return err;
}

/* SPDX-License-Identifier: MIT */
#include "watch/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"

/* From linux/fs.h, where it is newer than many headers. */
struct scan_arguments {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

struct scan_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan_arguments)
#define IS_PRESENT ((uint64_t)1 << 3)
#define WORD_PRESENT ((uint64_t)1 << 63)
/* So much at a time, on the helper's stack. */
#define REGIONS 32u
#define WORDS 512u

static int scan(const struct wn_pages *p, uint64_t start, uint64_t end, struct wn_stretch *r,
		unsigned max, uint64_t *stopped)
{
	struct scan_region found[REGIONS];
	struct scan_arguments a = {
		.size = sizeof(a),
		.start = start,
		.end = end,
		.vec = (uint64_t)found,
		.vec_len = wn_min(max, REGIONS),
		.category_mask = IS_PRESENT,
		.return_mask = IS_PRESENT,
	};
	int n = wn_sys->ioctl((int)p->fd1 - 1, SCAN_PAGES, (uint64_t)&a);

	for (int i = 0; i < n; i++)
		r[i] = (struct wn_stretch){ found[i].start, found[i].end };
	*stopped = a.walk_end;
	return n;
}

/* Adds a page; false when it begins a region that does not fit. */
static bool put(struct wn_stretch *r, unsigned max, unsigned *n, uint64_t at, uint64_t page)
{
	if (*n && r[*n - 1].end == at) {
		r[*n - 1].end += page;
		return true;
	}
	if (*n == max)
		return false;
	r[(*n)++] = (struct wn_stretch){ at, at + page };
	return true;
}

static int read_words(const struct wn_pages *p, uint64_t start, uint64_t end,
		      struct wn_stretch *r, unsigned max, uint64_t *stopped)
{
	uint64_t page = wn_page_size(), word[WORDS];
	unsigned n = 0;

	*stopped = start;
	while (*stopped < end) {
		uint64_t want = wn_min((end - *stopped) / page, WORDS);
		ssize_t got = wn_sys->pread((int)p->fd1 - 1, word, want * 8,
					    (off_t)(*stopped / page * 8));

		if (got < 8)
			return got < 0 ? (int)got : -EIO;
		for (unsigned i = 0; i < got / 8; i++, *stopped += page)
			if ((word[i] & WORD_PRESENT) && !put(r, max, &n, *stopped, page))
				return (int)n;
	}
	return (int)n;
}

int wn_pages_look(const struct wn_pages *p, uint64_t start, uint64_t end,
		  struct wn_stretch *r, unsigned max, uint64_t *stopped)
{
	return p->by_scan ? scan(p, start, end, r, max, stopped) :
			    read_words(p, start, end, r, max, stopped);
}

int wn_pages_open(struct wn_pages *p, bool by_scan)
{
	uint64_t page = wn_page_size(), stopped;
	uint64_t here = wn_round_down((uint64_t)&stopped, page);
	struct wn_stretch r[1];
	/* The first thread may have ended, and what /proc/self tells with it. */
	int fd = wn_sys->open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
	int n;

	if (fd < 0)
		return fd;
	*p = (struct wn_pages){ .fd1 = (uint32_t)fd + 1, .by_scan = by_scan };
	/* The page that we stand on is there, or nothing that is said can be believed. */
	n = wn_pages_look(p, here, here + page, r, 1, &stopped);
	if (n == 1)
		return 0;
	wn_pages_close(p);
	return n < 0 ? n : -ENOSYS;
}

void wn_pages_close(struct wn_pages *p)
{
	if (p->fd1)
		wn_sys->close((int)p->fd1 - 1);
	*p = (struct wn_pages){ 0 };
}

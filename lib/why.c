/* SPDX-License-Identifier: MIT */
#include "why.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/arch.h"
#include "base/sys.h"
#include "filesystems.h"

/* What the kernel reads at a time, nearly everywhere: such a file is read before it is seen. */
#define TINY (128u * 1024)

static const char texts[WN_REASONS][48] = {
#define WN_REASON(id, text, help) [WN_WHY_##id] = text,
#include "why.def"
#undef WN_REASON
};

/*
 * Which files have been told about: a hash of each, or 0.  Not in the state, for some reasons
 * are found where none is ever made.  A forked child begins anew.
 */
static struct {
	uint32_t pid;
	uint32_t any;
	uint32_t full[WN_REASONS];
	uint64_t file[WN_REASONS][WN_WHY_FILES];
} told;

enum answer { FIRST, AGAIN, TOO_MANY };

static void begin_anew(void)
{
	uint32_t pid = (uint32_t)wn_sys->getpid();

	if (wn_load(&told.pid) == pid)
		return;
	wn_store(&told.any, 0);
	for (int i = 0; i < WN_REASONS; i++) {
		wn_store(&told.full[i], 0);
		for (int j = 0; j < WN_WHY_FILES; j++)
			wn_store(&told.file[i][j], 0);
	}
	wn_store(&told.pid, pid);
}

static bool claim(uint64_t *slot, uint64_t hash)
{
	uint64_t none = 0;

	return __atomic_compare_exchange_n(slot, &none, hash, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static enum answer note(enum wn_reason why, uint64_t dev, uint64_t ino)
{
	/* Multiplicative hashing (Knuth). */
	uint64_t hash = ((ino * 0x9e3779b97f4a7c15u) ^ (dev * 0xc2b2ae3d27d4eb4fu)) | 1;

	begin_anew();
	for (int i = 0; i < WN_WHY_FILES; i++) {
		uint64_t *slot = &told.file[why][i];

		if (wn_load(slot) == hash)
			return AGAIN;
		if (!wn_load(slot) && claim(slot, hash))
			return FIRST;
		/* Somebody else has just taken it. */
		if (wn_load(slot) == hash)
			return AGAIN;
	}
	return wn_swap32(&told.full[why], 0, 1) ? TOO_MANY : AGAIN;
}

bool wn_why_told(void)
{
	return wn_load(&told.pid) == (uint32_t)wn_sys->getpid() && wn_load(&told.any);
}

/* Begins a line, unless it has been told; false: there is nothing more to do. */
static bool begin(const struct wn_options *o, enum wn_reason why, uint64_t dev,
		  uint64_t ino, struct wn_line *l)
{
	enum answer a = note(why, dev, ino);

	if (a == AGAIN || !wn_line_begin(l, o))
		return false;
	wn_store(&told.any, 1);
	if (a == FIRST)
		return true;
	wn_text_add(&l->text, "left alone: ");
	wn_text_add(&l->text, texts[why]);
	wn_text_add(&l->text, ": more than ");
	wn_text_number(&l->text, WN_WHY_FILES);
	wn_text_add(&l->text, " files, the others are not told");
	wn_line_end(l);
	return false;
}

static void end(struct wn_line *l, enum wn_reason why)
{
	wn_text_add(&l->text, ": left alone: ");
	wn_text_add(&l->text, texts[why]);
}

void wn_why_process(const struct wn_options *o, enum wn_reason why, int error)
{
	char comm[17] = "";
	struct wn_line l;

	if (!wn_why_asked(o) || !begin(o, why, 0, 0, &l))
		return;
	wn_raw(SYS_prctl, PR_GET_NAME, comm, 0, 0, 0);
	wn_text_add(&l.text, "process ");
	wn_text_add(&l.text, comm);
	end(&l, why);
	if (error) {
		wn_text_add(&l.text, ", errno ");
		wn_text_number(&l.text, (uint64_t)error);
	}
	wn_line_end(&l);
}

/* The path of the very file, if the number still means it. */
static void add_path(struct wn_line *l, const struct wn_why_file *f)
{
	char link[64];
	struct wn_text t = wn_text_in(link, sizeof(link));
	struct stat st;

	if (f->fd < 0)
		return;
	wn_text_add(&t, "/proc/self/task/");
	wn_text_number(&t, f->thread);
	wn_text_add(&t, "/fd/");
	wn_text_number(&t, (uint64_t)f->fd);
	if (!wn_raw(SYS_newfstatat, AT_FDCWD, link, &st, 0) && st.st_dev == f->dev &&
	    st.st_ino == f->ino)
		wn_line_link(l, link);
}

static void name(struct wn_line *l, const struct wn_why_file *f)
{
	wn_line_id(l, f->dev, f->ino);
	add_path(l, f);
}

void wn_why_file(const struct wn_options *o, enum wn_reason why,
		 const struct wn_why_file *f)
{
	struct wn_line l;

	if (!wn_why_asked(o) || !begin(o, why, f->dev, f->ino, &l))
		return;
	name(&l, f);
	end(&l, why);
	wn_line_end(&l);
}

void wn_why_tracked(const struct wn_options *o, enum wn_reason why,
		    const struct wn_file *file, uint32_t thread)
{
	const struct wn_why_file f = {
		.dev = wn_load(&file->dev),
		.ino = wn_load(&file->ino),
		.fd = wn_load(&file->fd),
		.thread = thread,
	};

	wn_why_file(o, why, &f);
}

void wn_why_fd(const struct wn_options *o, enum wn_reason why, int fd)
{
	struct wn_why_file f = {.fd = fd};
	struct stat st;

	if (!wn_why_asked(o) || wn_sys->fstat(fd, &st) < 0 ||
	    !(S_ISREG(st.st_mode) ? st.st_size >= TINY : S_ISBLK(st.st_mode)))
		return;
	if (!S_ISREG(st.st_mode))
		why = WN_WHY_NO_FILE;
	/* What is the storage is always cached. */
	else if (why == WN_WHY_CACHED && wn_filesystem_way(fd) == WN_NONE)
		why = WN_WHY_UNSUITED;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.thread = (uint32_t)wn_sys->gettid();
	wn_why_file(o, why, &f);
}

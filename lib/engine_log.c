/* SPDX-License-Identifier: MIT */
/* What the engine tells in the log. */
#include "base/text.h"
#include "engine.h"
#include "log.h"

/* Begins a line about a file that is open here. */
static bool begin_line(const struct wn_kernel *k, const struct wn_engine_file *f,
		       struct wn_line *l)
{
	const struct wn_file *w = &k->track->files.slot[f - k->engine->file];

	if (!wn_line_begin(l, k->options))
		return false;
	wn_line_id(l, w->dev, w->ino);
	wn_line_file(l, (int)f->fd1 - 1);
	return true;
}

void wn_engine_tell_way(const struct wn_kernel *k, const struct wn_engine_file *f,
			int error)
{
	static const char names[][12] = {"",     "ride",    "advise",
					 "slow", "address", "nothing"};
	struct wn_line l;

	if (!begin_line(k, f, &l))
		return;
	wn_text_add(&l.text, ": way ");
	wn_text_add(&l.text, names[f->way]);
	wn_text_add(&l.text, f->uring ? " with io_uring, unit " : ", unit ");
	wn_text_number(&l.text, f->unit);
	wn_text_add(&l.text, ", advice ");
	wn_text_number(&l.text, f->chunk);
	if (error) {
		wn_text_add(&l.text, ", not opened: errno ");
		wn_text_number(&l.text, (uint64_t)-error);
	}
	wn_line_end(&l);
}

void wn_engine_tell_fall(const struct wn_kernel *k, const struct wn_engine_file *f,
			 const char *why)
{
	struct wn_line l;

	if (!begin_line(k, f, &l))
		return;
	wn_text_add(&l.text, ": ride given up for advice: ");
	wn_text_add(&l.text, why);
	wn_line_end(&l);
}

/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include "base/sys.h"
#include "why.h"

/*
 * Scripts start many processes that read nothing: a line of each would bury the others.  The
 * blocks are those that this process has had to read from devices.
 */
static bool is_of_interest(const struct wn_options *o, const struct willneed_stats *stats)
{
	struct wn_process_reads r;

	if (stats || wn_why_told() ||
	    o->value[WN_OPT_STATS_PID] == (uint64_t)wn_sys->getpid())
		return true;
	wn_sys->process_reads(&r);
	return r.blocks * 512 >= o->value[WN_OPT_MIN_MAP];
}

static const char *why_nothing(const struct willneed_stats *s)
{
	bool cold = s && (wn_load(&s->copies_cold) || wn_load(&s->watched_faults) ||
			  wn_load(&s->reads_cold));

	if (!cold && wn_why_told())
		return "see above";
	if (!s || (!wn_load(&s->maps) && !wn_load(&s->reads_cold)))
		return "no file of WILLNEED_MIN_MAP or more was mapped, or read cold "
		       "where it is "
		       "seen";
	if (!cold && !wn_load(&s->copies))
		return "no copy of WILLNEED_MIN_COPY or more out of what is mapped, and "
		       "no page "
		       "fault of it, was seen";
	if (!cold)
		return "what was looked at was cached";
	return "what was read cold was in no order that leads anywhere, too little, or "
	       "left to "
	       "the kernel";
}

void wn_verdict(const struct wn_options *o, const struct willneed_stats *stats)
{
	uint64_t asked =
		stats ? wn_load(&stats->asked_bytes) + wn_load(&stats->led_bytes) : 0;
	struct wn_line l;

	if (!wn_why_asked(o) || !is_of_interest(o, stats) || !wn_line_begin(&l, o))
		return;
	if (asked) {
		wn_text_add(&l.text, "at exit: asked for ");
		wn_text_number(&l.text, asked);
		wn_text_add(&l.text, " bytes");
	} else {
		wn_text_add(&l.text, "at exit: nothing was asked for: ");
		wn_text_add(&l.text, why_nothing(stats));
	}
	wn_line_end(&l);
}

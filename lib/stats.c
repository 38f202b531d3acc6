/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <sys/prctl.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/sys.h"
#include "base/text.h"

static bool any(const struct willneed_stats *stats)
{
#define WILLNEED_COUNTER(name, help) \
	if (wn_load(&stats->name))   \
		return true;
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	return false;
}

static void add_counter(struct wn_text *t, const char *name, uint64_t value)
{
	if (!value)
		return;
	wn_text_add(t, "willneed: ");
	wn_text_add(t, name);
	wn_text_add(t, " ");
	wn_text_number(t, value);
	wn_text_add(t, "\n");
}

void wn_stats_print(const struct willneed_stats *stats, uint64_t always, int fd)
{
	const uint64_t pid = (uint64_t)wn_sys->getpid();
	char buf[2048], name[17] = "";
	struct wn_text t = wn_text_in(buf, sizeof(buf));
	const bool busy = any(stats);

	if (!busy && pid != always)
		return;
	/* Several processes may append to one file. */
	wn_raw(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	wn_text_add(&t, "willneed: process ");
	wn_text_number(&t, pid);
	wn_text_add(&t, " (");
	wn_text_add_short(&t, name);
	wn_text_add(&t, busy ? ")\n" : "): nothing to do\n");
#define WILLNEED_COUNTER(name, help) add_counter(&t, #name, wn_load(&stats->name));
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	wn_write_quietly(fd, buf, t.used);
}

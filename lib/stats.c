/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <sys/prctl.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/sys.h"
#include "base/text.h"

void wn_stats_print(const struct willneed_stats *stats, int fd)
{
	char buf[2048], name[17] = "";
	struct wn_text t = wn_text_in(buf, sizeof(buf));

	/* Several processes may append to one file. */
	wn_raw(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	wn_text_add(&t, "willneed: process ");
	wn_text_number(&t, (uint64_t)wn_sys->getpid());
	wn_text_add(&t, " (");
	wn_text_add_short(&t, name);
	wn_text_add(&t, ")\n");
#define WILLNEED_COUNTER(name, help)             \
	wn_text_add(&t, "willneed: " #name " "); \
	wn_text_number(&t, wn_load(&stats->name)); \
	wn_text_add(&t, "\n");
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	wn_write_quietly(fd, buf, t.used);
}

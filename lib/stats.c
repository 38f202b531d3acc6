/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include "base/file_io.h"
#include "base/text.h"

void wn_stats_print(const struct willneed_stats *stats, int fd)
{
	char buf[2048];
	struct wn_text t = wn_text_in(buf, sizeof(buf));

#define WILLNEED_COUNTER(name, help)             \
	wn_text_add(&t, "willneed: " #name " "); \
	wn_text_number(&t, wn_load(&stats->name)); \
	wn_text_add(&t, "\n");
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	wn_write_quietly(fd, buf, t.used);
}

/* SPDX-License-Identifier: MIT */
#include "front/front.h"

#include <dlfcn.h>
#include <errno.h>

#include "runtime.h"

struct wn_front wn_front;

long wn_front_result(long raw)
{
	if (raw >= 0 || raw < -4095)
		return raw;
	errno = (int)-raw;
	return -1;
}

void *wn_front_early(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/*
 * Finds the next definition of every name, and only then opens the gate: until
 * copy_min is set, the copy wrappers use nothing else of struct wn_front.
 */
__attribute__((constructor)) static void found(void)
{
	int saved = errno;

#define WN_NEXT(name) wn_front.name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
#define WN_ALIAS(name)
#include "front/wrappers.def"
#undef WN_NEXT
#undef WN_ALIAS
	if (!wn_front.memmove)
		wn_front.memmove = wn_move;
	wn_attach(&wn_front.copy_min, &wn_front.plain_reads, wn_front.memmove);
	errno = saved;
}

/* SPDX-License-Identifier: MIT */
/* The mapping family: what is mapped where, and what the program advised. */
#include "front/front.h"

#include "base/arch.h"
#include "copy.h"
#include "repeat.h"

/* Its fifth argument is read even when it is not given, as libc's own does. */
WN_EXPORT void *wn_front_mremap(void *from, size_t old_length, size_t length, int flags,
				void *to) __asm__("mremap");

WN_EXPORT void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *at = wn_front.mmap ?
			   wn_front.mmap(addr, length, prot, flags, fd, offset) :
			   (void *)wn_front_result(wn_raw(SYS_mmap, addr, length, prot, flags,
							  fd, offset));

	/* Before the constructor nothing is watched, so nothing can be replaced either. */
	if (at == MAP_FAILED || !wn_front.copy_min)
		return at;
	if (fd >= 0 && (prot & PROT_READ) && !(flags & MAP_ANONYMOUS) &&
	    wn_watch(at, length, fd, offset) == 0)
		return at;
	wn_unwatch(at, length);
	return at;
}

WN_EXPORT void *mmap64(void *addr, size_t length, int prot, int flags, int fd,
		       off64_t offset)
{
	return mmap(addr, length, prot, flags, fd, offset);
}

WN_EXPORT int munmap(void *addr, size_t length)
{
	if (wn_front.copy_min)
		wn_unwatch(addr, length);
	return wn_front.munmap ? wn_front.munmap(addr, length) :
				 (int)wn_front_result(wn_raw(SYS_munmap, addr, length));
}

void *wn_front_mremap(void *from, size_t old_length, size_t length, int flags, void *to)
{
	void *at = wn_front.mremap ?
			   wn_front.mremap(from, old_length, length, flags, to) :
			   (void *)wn_front_result(
				   wn_raw(SYS_mremap, from, old_length, length, flags, to));

	if (at != MAP_FAILED && wn_front.copy_min)
		wn_moved(from, old_length, at, length, flags & MREMAP_DONTUNMAP);
	return at;
}

static int next_madvise(void *addr, size_t length, int advice)
{
	return wn_front.madvise ?
		       wn_front.madvise(addr, length, advice) :
		       (int)wn_front_result(wn_raw(SYS_madvise, addr, length, advice));
}

static int next_posix_madvise(void *addr, size_t length, int advice)
{
	if (wn_front.posix_madvise)
		return wn_front.posix_madvise(addr, length, advice);
	/* Its values are those of madvise(), but for DONTNEED, which does nothing. */
	return advice == POSIX_MADV_DONTNEED ? 0 :
					       (int)-wn_raw(SYS_madvise, addr, length, advice);
}

static int ask(void *addr, size_t length,
	       int (*next)(void *addr, size_t length, int advice))
{
	struct wn_repeat r;
	int result;

	if (wn_repeat_memory(&r, &addr, &length))
		return 0;
	result = next(addr, length, MADV_WILLNEED);
	wn_repeat_told(&r, result == 0);
	return result;
}

WN_EXPORT int madvise(void *addr, size_t length, int advice)
{
	int r;

	if (advice == MADV_WILLNEED && wn_front.copy_min)
		return ask(addr, length, next_madvise);
	r = next_madvise(addr, length, advice);
	if (r || !wn_front.copy_min)
		return r;
	/* These two take pages out of the page cache. */
	if (advice == MADV_PAGEOUT || advice == MADV_REMOVE)
		wn_repeat_forget_memory(addr, length);
	wn_advised(addr, length, advice);
	return r;
}

WN_EXPORT int posix_madvise(void *addr, size_t length, int advice)
{
	int r;

	if (advice == POSIX_MADV_WILLNEED && wn_front.copy_min)
		return ask(addr, length, next_posix_madvise);
	r = next_posix_madvise(addr, length, advice);
	if (!r && wn_front.copy_min)
		wn_advised(addr, length, advice);
	return r;
}

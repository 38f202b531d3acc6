/* SPDX-License-Identifier: MIT */
#include "filesystems.h"

#include <stdint.h>
#include <sys/vfs.h>

#include "base/sys.h"

#define FUSE_MAGIC 0x65735546u

enum wn_way wn_filesystem_way(int fd)
{
	struct statfs sf;

	if (wn_sys->fstatfs(fd, &sf) < 0)
		return WN_ADVISE;
	switch ((uint32_t)sf.f_type) {
#define WN_FILESYSTEM(magic, way) \
	case magic:               \
		return WN_##way;
#include "filesystems.def"
#undef WN_FILESYSTEM
	}
	return WN_ADVISE;
}

bool wn_filesystem_is_fuse(int fd)
{
	struct statfs sf;

	return wn_sys->fstatfs(fd, &sf) >= 0 && (uint32_t)sf.f_type == FUSE_MAGIC;
}

/* SPDX-License-Identifier: MIT */
/* A look at the program before it is run: may the library be preloaded into it? */
#include "tool.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

/* A file in memory, and what of it has been checked to be there. */
struct image {
	const unsigned char *data;
	size_t size;
	int fd;
	struct stat st;
};

static int image_open(struct image *im, const char *path)
{
	void *data;

	im->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (im->fd < 0)
		return -errno;
	if (fstat(im->fd, &im->st) < 0 || !S_ISREG(im->st.st_mode) || im->st.st_size <= 0)
		goto bad;
	im->size = (size_t)im->st.st_size;
	data = mmap(NULL, im->size, PROT_READ, MAP_PRIVATE, im->fd, 0);
	if (data == MAP_FAILED)
		goto bad;
	im->data = data;
	return 0;
bad:
	close(im->fd);
	return -EINVAL;
}

static void image_close(struct image *im)
{
	munmap((void *)(uintptr_t)im->data, im->size);
	close(im->fd);
}

/* The bytes [offset, offset + length), or NULL when the file does not hold them. */
static const void *image_at(const struct image *im, uint64_t offset, uint64_t length)
{
	if (offset > im->size || length > im->size - offset)
		return NULL;
	return im->data + offset;
}

static const ElfW(Phdr) *find_segment(const struct image *im, uint32_t type)
{
	const ElfW(Ehdr) *eh = image_at(im, 0, sizeof(*eh));

	for (unsigned i = 0; eh && i < eh->e_phnum; i++) {
		const ElfW(Phdr) *ph =
			image_at(im, eh->e_phoff + i * sizeof(*ph), sizeof(*ph));

		if (ph && ph->p_type == type)
			return ph;
	}
	return NULL;
}

/* Where in the file an address of the running program comes from. */
static uint64_t file_offset(const struct image *im, uint64_t address)
{
	const ElfW(Ehdr) *eh = image_at(im, 0, sizeof(*eh));

	for (unsigned i = 0; eh && i < eh->e_phnum; i++) {
		const ElfW(Phdr) *ph =
			image_at(im, eh->e_phoff + i * sizeof(*ph), sizeof(*ph));

		if (ph && ph->p_type == PT_LOAD && address >= ph->p_vaddr &&
		    address - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (address - ph->p_vaddr);
	}
	return UINT64_MAX;
}

static bool is_sanitizer(const struct image *im, uint64_t offset)
{
	static const char *const runtimes[] = {
		"libasan.so",	    "libtsan.so",	"libmsan.so",
		"liblsan.so",	    "libhwasan.so",	"libclang_rt.asan",
		"libclang_rt.tsan", "libclang_rt.msan", "libclang_rt.hwasan",
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		size_t length = strlen(runtimes[i]);
		const char *name = image_at(im, offset, length);

		if (name && !memcmp(name, runtimes[i], length))
			return true;
	}
	return false;
}

static bool needs_sanitizer(const struct image *im)
{
	const ElfW(Phdr) *segment = find_segment(im, PT_DYNAMIC);
	uint64_t count = segment ? segment->p_filesz / sizeof(ElfW(Dyn)) : 0;
	const ElfW(Dyn) *dyn =
		segment ? image_at(im, segment->p_offset, segment->p_filesz) : NULL;
	uint64_t names = UINT64_MAX;

	for (uint64_t i = 0; dyn && i < count; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			names = file_offset(im, dyn[i].d_un.d_ptr);
	}
	if (names >= im->size)
		return false;
	for (uint64_t i = 0; dyn && i < count && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_NEEDED && dyn[i].d_un.d_val < im->size &&
		    is_sanitizer(im, names + dyn[i].d_un.d_val))
			return true;
	}
	return false;
}

/* In a program that gains privileges the loader takes libraries of the system's only. */
static bool gains_privilege(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
		return true;
	if ((st.st_mode & S_ISGID) && st.st_gid != getegid())
		return true;
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* The loader of musl stops at what it cannot resolve, instead of going on without it. */
static bool is_of_other_libc(const struct image *im)
{
	const ElfW(Phdr) *interp = find_segment(im, PT_INTERP);
	const char *path = interp ? image_at(im, interp->p_offset, interp->p_filesz) : NULL;

	return path && memmem(path, interp->p_filesz, "/ld-musl-", 9);
}

static const char *elf_refusal(const struct image *im)
{
	const ElfW(Ehdr) *eh = image_at(im, 0, sizeof(*eh));

	if (!eh || memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return NULL; /* the kernel will say what it thinks of it */
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program";
	if (eh->e_machine != OUR_MACHINE)
		return "it is a program for another processor";
	if (!find_segment(im, PT_INTERP))
		return "it is linked statically";
	if (is_of_other_libc(im))
		return "it is a program of another C library";
	if (needs_sanitizer(im))
		return "it is built with a sanitizer, whose runtime must come first";
	return NULL;
}

/* Is a symbol of this name defined in a table of dynamic symbols? */
static bool defines(const struct image *im, const ElfW(Shdr) *table,
		    const ElfW(Shdr) *names, const char *name)
{
	uint64_t count = table->sh_size / sizeof(ElfW(Sym));
	const ElfW(Sym) *symbol = image_at(im, table->sh_offset, table->sh_size);
	size_t size = strlen(name) + 1;

	for (uint64_t i = 0; symbol && i < count; i++) {
		const char *found;

		if (symbol[i].st_shndx == SHN_UNDEF || symbol[i].st_name >= names->sh_size)
			continue;
		found = image_at(im, names->sh_offset + symbol[i].st_name, size);
		if (found && !memcmp(found, name, size))
			return true;
	}
	return false;
}

static bool exports(const struct image *im, const char *name)
{
	const ElfW(Ehdr) *eh = image_at(im, 0, sizeof(*eh));
	const ElfW(Shdr) *section =
		image_at(im, eh->e_shoff, eh->e_shnum * sizeof(*section));

	for (unsigned i = 0; section && i < eh->e_shnum; i++) {
		if (section[i].sh_type == SHT_DYNSYM && section[i].sh_link < eh->e_shnum)
			return defines(im, &section[i], &section[section[i].sh_link],
				       name);
	}
	return false;
}

bool wn_is_preload_library(const char *path)
{
	const ElfW(Ehdr) *eh;
	struct image im;
	bool is;

	if (image_open(&im, path) < 0)
		return false;
	eh = image_at(&im, 0, sizeof(*eh));
	/* libwillneed.so has the first of the names, and wraps nothing. */
	is = eh && !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	     eh->e_ident[EI_CLASS] == ELFCLASS64 && eh->e_machine == OUR_MACHINE &&
	     eh->e_type == ET_DYN && exports(&im, "willneed_version") &&
	     exports(&im, "memcpy");
	image_close(&im);
	return is;
}

/* The interpreter of a "#!" line, as the kernel reads it. */
static bool script_interpreter(const struct image *im, char path[PATH_MAX])
{
	size_t at = 2, used = 0;

	if (im->size < 3 || memcmp(im->data, "#!", 2))
		return false;
	while (at < im->size && (im->data[at] == ' ' || im->data[at] == '\t'))
		at++;
	while (at < im->size && used < PATH_MAX - 1 && !strchr(" \t\n", im->data[at]))
		path[used++] = (char)im->data[at++];
	path[used] = '\0';
	return used > 0;
}

const char *wn_program_refusal(const char *path)
{
	enum { SCRIPTS_MAX = 4 }; /* as many as the kernel follows */
	char interpreter[PATH_MAX];

	for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
		struct image im;
		const char *why;
		bool script;

		const char *gains = gains_privilege(path) ? "it gains privileges when run" : NULL;

		/* What we may run but not read is not known: it is taken for harmless. */
		if (image_open(&im, path) < 0)
			return gains;
		script = script_interpreter(&im, interpreter);
		why = script ? NULL : elf_refusal(&im);
		image_close(&im);
		/* The kernel gives a script no privileges. */
		if (!script)
			return why ? why : gains;
		path = interpreter;
	}
	return NULL;
}

static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

int wn_program_find(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	int result = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return executable(path);
	}
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir;) {
		int length = (int)strcspn(dir, ":");
		int err = -ENOENT;

		/* An empty entry is the current directory. */
		if (snprintf(path, PATH_MAX, "%.*s%s%s", length, dir, length ? "/" : "",
			     name) < PATH_MAX)
			err = executable(path);
		if (!err)
			return 0;
		if (err == -EACCES)
			result = err;
		dir = dir[length] ? dir + length + 1 : NULL;
	}
	return result;
}

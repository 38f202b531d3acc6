/* SPDX-License-Identifier: MIT */
/*
 * Copies a file to standard output, with the whole file on its way into the page cache
 * before the first byte is read.
 *
 *	cc -o example example.c $(pkg-config --cflags --libs willneed)
 *	./example FILE >COPY
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <willneed.h>

/* willneed functions return a negative errno; nothing here is worth failing for. */
static void tell(const char *what, int error)
{
	if (error < 0)
		fprintf(stderr, "%s: %s\n", what, strerror(-error));
}

static int copy_out(int fd)
{
	static char buffer[1 << 16];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got)
			return -1;
	return got < 0 || fflush(stdout) != 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct willneed_stats stats;
	struct stat st;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: example FILE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(argv[1]);
		return 1;
	}

	tell("willneed_prefetch", willneed_prefetch(fd, 0, st.st_size));
	/* A program would do something useful now; this one only waits, a second at most. */
	tell("willneed_wait", willneed_wait(fd, 0, st.st_size, 1000));
	if (copy_out(fd) < 0) {
		perror("example");
		return 1;
	}

	if (willneed_stats(&stats, sizeof(stats)) == 0)
		fprintf(stderr, "%lu bytes asked of the kernel in %lu calls\n",
			stats.asked_bytes, stats.kernel_calls);
	return close(fd) < 0;
}

/* Opens files; see file.h. */
#include "stats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(const char *file, bool keep, int *out)
{
	struct stat status;
	if (strncmp(file, "fd:", 3) != 0) {
		*out = open(file, O_RDWR | O_CREAT | O_CLOEXEC | (keep ? 0 : O_TRUNC), 0644);
		return *out < 0 ? -errno : 0;
	}
	char *end;
	long fd = strtol(file + 3, &end, 10);
	if (end == file + 3 || *end || fd < 0 || fd > INT32_MAX)
		return -EINVAL;
	if (fstat((int)fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (!keep && ftruncate((int)fd, 0) < 0)
		return -errno;
	*out = fcntl((int)fd, F_DUPFD_CLOEXEC, 0);
	return *out < 0 ? -errno : 0;
}

/* file: files that trials write, as commands name them. */
#ifndef NINES_FILE_H
#define NINES_FILE_H

#include <stdbool.h>

/* Opens a path, or uses a file that the engine's parent opened ("fd:3"): to write into a folder that
 * a container cannot see, or into a file without a name. Empties it, unless its content is kept. A
 * descriptor that the caller closes, or -errno. */
int file_open(const char *file, bool keep, int *out);

#endif

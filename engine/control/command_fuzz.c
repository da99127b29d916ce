/* libFuzzer target: any line either parses or is refused with a message. */
#include "control/command.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct command c;
	char error[COMMAND_ERROR_BYTES] = "";
	if (size > COMMAND_LINE_MAX)
		return 0;
	int err = command_parse((const char *)data, size, &c, error, sizeof error);
	/* A refusal says why; accepted values are within their bounds. */
	if (err && !error[0])
		abort();
	if (!err && c.kind == COMMAND_OPEN &&
	    (c.config.frame_bytes < 64 || c.config.frame_bytes > 9018 || c.config.flows < 1 ||
	     !memchr(c.config.interface, 0, sizeof c.config.interface)))
		abort();
	return 0;
}

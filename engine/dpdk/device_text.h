/*
 * device_text: what a device's text says, "net_memif0,role=server,socket=/run/a.sock"
 * as for --vdev, or a PCI address; and whether its socket can be had. DPDK's own
 * errors for these are a number, or none.
 */
#ifndef NINES_DEVICE_TEXT_H
#define NINES_DEVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { DEVICE_NAME_MAX = 64 /* RTE_DEV_NAME_MAX_LEN, with its NUL */ };

struct device_text {
	char name[DEVICE_NAME_MAX]; /* "net_memif0" */
	char socket[512]; /* path of its UNIX socket; empty: it has none, or an abstract one */
	bool listens; /* on that socket; else it connects to it */
	bool blocks; /* whoever opens it, until its peer connects */
	bool needs_peer; /* can be opened only where its peer listens */
	bool awaits_peer; /* the same, but we wait for that */
	unsigned slot_bytes; /* of its ring of packets (framesz of af_packet); 0: it does not say */
};

/* 0, or -EINVAL or -ENAMETOOLONG with a text. */
int device_text_parse(const char *text, struct device_text *device, char *error, size_t size);

/* The value of "key=value" behind the device's name; false: not there, or too long. */
bool device_text_value(const char *text, const char *key, char *value, size_t size);

/* The text, or in `grown` the same with memif's buffers made large enough for a frame:
 * they have 2,048 bytes unless the client says otherwise (bsize). */
const char *device_text_grow(const char *text, const struct device_text *device,
			     unsigned frame_bytes, char *grown, size_t size);

/* Whether a living process listens on the socket at `path`; disturbs nobody. */
bool device_socket_listens(const char *path);

/* Before the device is opened: takes a stale socket out of its way. -EADDRINUSE where
 * another process listens, -ENOENT where nobody does and the device would not wait. */
int device_socket_clear(const struct device_text *device, char *error, size_t size);

#endif

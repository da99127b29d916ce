/*
 * device_text: parses a device's text, "net_memif0,role=server,socket=/run/a.sock" as for --vdev,
 * or a PCI address; and checks that its socket is free. DPDK itself reports such errors as a
 * number, or not at all.
 */
#ifndef NINES_DEVICE_TEXT_H
#define NINES_DEVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { DEVICE_NAME_MAX = 64 /* RTE_DEV_NAME_MAX_LEN, with its NUL */ };

struct device_text {
	char name[DEVICE_NAME_MAX]; /* "net_memif0" */
	char socket[512]; /* path of its UNIX socket; empty: it has none, or an abstract one */
	bool listens; /* on that socket; otherwise it connects */
	bool blocks; /* opening blocks until its peer connects */
	bool needs_peer; /* can only be opened while its peer listens */
	bool awaits_peer; /* the same, but we wait for the peer */
	unsigned slot_bytes; /* of its ring of packets (framesz of af_packet); 0: unknown */
};

/* 0, or -EINVAL or -ENAMETOOLONG with a message. */
int device_text_parse(const char *text, struct device_text *device, char *error, size_t size);

/* Returns the text, or a copy in `grown` with memif's buffers large enough for a frame: they have
 * 2,048 bytes unless the client sets bsize. */
const char *device_text_grow(const char *text, const struct device_text *device,
			     unsigned frame_bytes, char *grown, size_t size);

/* Whether a living process listens on the socket at `path`; disturbs no process. */
bool device_socket_listens(const char *path);

/* Call before the device is opened: removes a stale socket. -EADDRINUSE if another process listens,
 * -ENOENT if none does and the device would not wait. */
int device_socket_clear(const struct device_text *device, char *error, size_t size);

#endif

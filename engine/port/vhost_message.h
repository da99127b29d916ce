/*
 * vhost_message: the messages of the vhost-user protocol, as QEMU's
 * docs/interop/vhost-user.rst describes them: a header of 12 bytes, a payload, and
 * file descriptors beside it.
 */
#ifndef NINES_VHOST_MESSAGE_H
#define NINES_VHOST_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum vhost_request {
	VHOST_GET_FEATURES = 1,
	VHOST_SET_FEATURES = 2,
	VHOST_SET_OWNER = 3,
	VHOST_RESET_OWNER = 4,
	VHOST_SET_MEM_TABLE = 5,
	VHOST_SET_VRING_NUM = 8,
	VHOST_SET_VRING_ADDR = 9,
	VHOST_SET_VRING_BASE = 10,
	VHOST_GET_VRING_BASE = 11,
	VHOST_SET_VRING_KICK = 12,
	VHOST_SET_VRING_CALL = 13,
	VHOST_SET_VRING_ERR = 14,
	VHOST_GET_PROTOCOL_FEATURES = 15,
	VHOST_SET_PROTOCOL_FEATURES = 16,
	VHOST_GET_QUEUE_NUM = 17,
	VHOST_SET_VRING_ENABLE = 18,
	VHOST_SEND_RARP = 19,
	VHOST_RESET_DEVICE = 34,
};

enum {
	VHOST_VERSION = 1, /* in the low two bits of the flags */
	VHOST_VERSION_MASK = 3,
	VHOST_REPLY = 1 << 2,
	VHOST_NEED_REPLY = 1 << 3,
	VHOST_NO_FD = 1 << 8, /* in the payload of SET_VRING_KICK, _CALL, _ERR */
	VHOST_INDEX_MASK = 0xff,
	VHOST_FDS_MAX = 8,
	VHOST_HEADER_BYTES = 12,
};

/* Feature bits besides virtio's own (VHOST_USER_F_…, VHOST_USER_PROTOCOL_F_…). */
#define VHOST_F_PROTOCOL_FEATURES     (UINT64_C(1) << 30)
#define VHOST_PROTOCOL_F_MQ	      (UINT64_C(1) << 0)
#define VHOST_PROTOCOL_F_REPLY_ACK    (UINT64_C(1) << 3)
#define VHOST_PROTOCOL_F_RESET_DEVICE (UINT64_C(1) << 13)

struct vhost_message {
	uint32_t request, flags, bytes;
	union {
		uint64_t number;
		struct {
			uint32_t index, number;
		} ring;
		struct {
			uint32_t index, flags;
			uint64_t descriptors, used, available, log;
		} address;
		struct {
			uint32_t count, padding;
			struct {
				uint64_t guest, bytes, user, offset;
			} regions[8];
		} memory;
		uint8_t raw[264];
	} payload;
	int fds[VHOST_FDS_MAX]; /* -1: none; taken ones are set to -1 */
	unsigned fd_count;
};

_Static_assert(offsetof(struct vhost_message, payload) == 16, "the header is read apart");

/* Reads one message from a socket; returns also when `stop_fd` becomes readable. 0, or -errno:
 * -ECANCELED when stopped, -ECONNRESET when the other side is gone. The caller owns the
 * descriptors. */
int vhost_message_read(int fd, int stop_fd, struct vhost_message *m);
int vhost_message_write(int fd, const struct vhost_message *m);
void vhost_message_close_fds(struct vhost_message *m);

#endif

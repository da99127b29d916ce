/* Reads a device's text and checks its socket; see device_text.h. */
#include "dpdk/device_text.h"

#include "refusal/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum peerless {
	PEERLESS_OPENS, /* opens at once, and connects when the peer appears */
	PEERLESS_BLOCKS, /* blocks in accept(2) if it listens, fails if it connects */
	PEERLESS_FAILS, /* if it connects */
};

/* The drivers that have a socket: which key names it, what makes them listen, and what they do
 * without a peer. */
static const struct {
	const char *driver, *path_key;
	const char *role_key, *role_listens; /* role_key=role_listens listens */
	bool listens_without; /* if role_key is not given */
	enum peerless peerless;
} socket_drivers[] = {
	{"net_virtio_user", "path", "server", "1", false, PEERLESS_BLOCKS},
	{"net_vhost", "iface", "client", "0", true, PEERLESS_OPENS},
	{"net_memif", "socket", "role", "server", false, PEERLESS_FAILS},
};

/* The value of "key=value" after the device's name; false: missing, or too long. */
static bool value_of(const char *text, const char *key, char *value, size_t size)
{
	size_t key_length = strlen(key);
	for (const char *at = strchr(text, ','); at; at = strchr(at, ',')) {
		at++;
		if (strncmp(at, key, key_length) != 0 || at[key_length] != '=')
			continue;
		at += key_length + 1;
		size_t length = strcspn(at, ",");
		if (length >= size)
			return false;
		memcpy(value, at, length);
		value[length] = '\0';
		return true;
	}
	return false;
}

static void parse_socket(const char *text, struct device_text *d)
{
	char value[32];
	for (size_t i = 0; i < sizeof socket_drivers / sizeof socket_drivers[0]; i++) {
		if (strncmp(d->name, socket_drivers[i].driver, strlen(socket_drivers[i].driver)) !=
		    0)
			continue;
		if (!value_of(text, socket_drivers[i].path_key, d->socket, sizeof d->socket))
			return;
		d->listens = socket_drivers[i].listens_without;
		if (value_of(text, socket_drivers[i].role_key, value, sizeof value))
			d->listens = strcmp(value, socket_drivers[i].role_listens) == 0;
		enum peerless peerless = socket_drivers[i].peerless;
		d->blocks = peerless == PEERLESS_BLOCKS && d->listens;
		d->needs_peer = peerless == PEERLESS_BLOCKS && !d->listens;
		d->awaits_peer = peerless == PEERLESS_FAILS && !d->listens;
	}
}

int device_text_parse(const char *text, struct device_text *d, char *error, size_t size)
{
	char value[8];
	memset(d, 0, sizeof *d);
	size_t length = strcspn(text, ",");
	if (length == 0 || length >= sizeof d->name) {
		snprintf(error, size,
			 "\"device\" begins with a name of 1 to %zu bytes, such as net_memif0",
			 sizeof d->name - 1);
		return -EINVAL;
	}
	memcpy(d->name, text, length);
	parse_socket(text, d);
	if (value_of(text, "framesz", value, sizeof value))
		d->slot_bytes = (unsigned)strtoul(value, NULL, 10);
	/* memif's socket is abstract by default: it has no file and belongs to the network
	 * namespace. */
	if (strncmp(d->name, "net_memif", 9) == 0 &&
	    !(value_of(text, "socket-abstract", value, sizeof value) && strcmp(value, "no") == 0)) {
		d->socket[0] = '\0';
		return 0;
	}
	/* virtio-user's path may be a character device (vhost-net, vDPA). */
	size_t longest = sizeof((struct sockaddr_un *)0)->sun_path - 1;
	if (strlen(d->socket) > longest) {
		snprintf(
			error, size,
			"the path of %s's socket has %zu bytes, and a UNIX socket's at most %zu: use a "
			"shorter folder (%.120s...)",
			d->name, strlen(d->socket), longest, d->socket);
		return -ENAMETOOLONG;
	}
	return 0;
}

const char *device_text_grow(const char *text, const struct device_text *d, unsigned frame_bytes,
			     char *grown, size_t size)
{
	enum { MEMIF_BUFFER = 2048 }; /* MEMIF_DEFAULT_BUFFER_SIZE in rte_eth_memif.h */
	char value[16];
	if (strncmp(d->name, "net_memif", 9) != 0 || frame_bytes <= MEMIF_BUFFER ||
	    value_of(text, "bsize", value, sizeof value))
		return text;
	snprintf(grown, size, "%s,bsize=%u", text, (frame_bytes + 63) / 64 * 64);
	return grown;
}

/* Whether a living process listens there. A datagram socket cannot connect to the stream or packet
 * sockets of vhost-user and memif (EPROTOTYPE), so this disturbs no process; if none has the socket
 * open, the kernel returns ECONNREFUSED. */
/* Whether a process listens on a socket: 1, 0, or -errno if that cannot be told. */
static int listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, path, strlen(path) + 1); /* device_text_parse saw the size */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int err = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
	close(fd);
	if (err == 0 || err == EPROTOTYPE)
		return 1;
	return err == ECONNREFUSED || err == ENOENT ? 0 : -err;
}

bool device_socket_listens(const char *path)
{
	return listens(path) > 0;
}

int device_socket_clear(const struct device_text *d, char *error, size_t size)
{
	struct stat status;
	if (!d->socket[0])
		return 0;
	bool exists = lstat(d->socket, &status) == 0;
	if (exists && d->listens && !S_ISSOCK(status.st_mode)) {
		snprintf(error, size, "%s exists and is not a socket: %s cannot listen there",
			 d->socket, d->name);
		return -EADDRINUSE;
	}
	if (exists && !S_ISSOCK(status.st_mode))
		return 0;
	int listening = exists ? listens(d->socket) : 0;
	if (listening < 0) {
		refusal_say(error, size, listening, -1,
			    "cannot see whether a process listens on %s", d->socket);
		return listening;
	}
	if (d->listens) {
		if (listening) {
			snprintf(error, size, "another process listens on %s", d->socket);
			return -EADDRINUSE;
		}
		if (exists && unlink(d->socket) < 0) {
			int err = -errno;
			snprintf(error, size, "cannot remove the stale socket %s", d->socket);
			return err;
		}
		return 0;
	}
	if (listening || !d->needs_peer)
		return 0;
	snprintf(error, size,
		 "no program listens on %s: open the other end first, or let %s listen", d->socket,
		 d->name);
	return exists ? -ECONNREFUSED : -ENOENT;
}

/*
 * command: parses one line of JSON into one checked struct, or a message that says what is wrong
 * and what is allowed. A pure function, so a refused command changes nothing.
 * docs/reference/engine-protocol.md is the specification.
 */
#ifndef NINES_COMMAND_H
#define NINES_COMMAND_H

#include "dpdk/eal_config.h"
#include "port/port.h"
#include "role/service.h"
#include "role/trial.h"
#include "role/watch.h"
#include "switch/switch.h"

enum command_kind {
	COMMAND_HELLO,
	COMMAND_OPEN,
	COMMAND_CLOSE,
	COMMAND_SERVE,
	COMMAND_STATS,
	COMMAND_STOP,
	COMMAND_TRIAL,
	COMMAND_END,
	COMMAND_ABORT,
	COMMAND_PAUSE,
	COMMAND_RESUME,
	COMMAND_DPDK,
	COMMAND_SWITCH,
	COMMAND_ATTACH,
	COMMAND_DETACH,
	COMMAND_SWITCH_STATS,
	COMMAND_MACS,
	COMMAND_MIRROR,
	COMMAND_WATCH,
	COMMAND_CUT,
	COMMAND_CLOCK,
	COMMAND_INTERRUPTIONS,
};

enum { COMMAND_ERROR_BYTES = 512, COMMAND_LINE_MAX = 1 << 20 };

enum command_role { ROLE_FORWARD, ROLE_REFLECT };
enum command_trial_role { ROLE_GENERATE, ROLE_SINK, ROLE_LOOP };

/* A stream of a trial, whose ports are not yet looked up. */
struct command_stream {
	char tx[PORT_NAME_MAX], rx[PORT_NAME_MAX]; /* empty: not given */
	struct stream_config config;
};

/* Of a trial whose two streams share a schedule. */
struct command_duet {
	bool given;
	uint64_t seed;
};

struct command {
	enum command_kind kind;
	char name[16]; /* "?" until it is known */
	char port[PORT_NAME_MAX];
	const struct port_ops *backend; /* open */
	struct port_config config; /* open */
	enum command_role serve_role;
	char serve_ports[SERVICE_PORTS_MAX][PORT_NAME_MAX];
	struct service_config serve; /* without its ports */
	enum command_trial_role trial_role;
	struct command_stream streams[TRIAL_STREAMS_MAX];
	unsigned stream_count;
	struct command_duet duet;
	struct trial_config trial; /* without its streams */
	uint64_t tx_packets; /* end */
	struct eal_config dpdk;
	struct switch_config switch_;
	struct switch_port_config attach;
	bool cut;
	uint32_t room; /* interruptions; 0: to read them */
	struct mirror_config mirror;
	uint32_t mirror_direction; /* as in the command: rx, tx or both */
	int watch_cpus[WATCH_CPUS_MAX];
	struct watch_config watch; /* its CPUs are watch_cpus */
};

/* 0, or -EINVAL with a message. */
int command_parse(const char *line, size_t length, struct command *out, char *error, size_t size);

#endif

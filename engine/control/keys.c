/* The keys of each command; see keys.h. */
#include "control/keys.h"

#include "control/command.h"
#include "stats/notices.h"

#define AT(member) offsetof(struct command, member)

static const char *const io_names[] = {"single", "batch", "mmsg", NULL};
static const char *const wait_names[] = {"block", "spin", "busy_poll", NULL};
static const char *const frames_names[] = {"udp", "all", NULL};
static const char *const direction_names[] = {"both", "rx", "tx", NULL};
static const char *const flow_names[] = {"source_port", "source_address", NULL};
static const char *const pattern_names[] = {"constant", "poisson", NULL};
const char *const serve_roles[] = {"forward", "reflect", NULL};
const char *const trial_roles[] = {"generate", "sink", "loop", NULL};

enum {
	FLOWS_MAX = 65535,
	BURST_MAX = 4096,
	OUTLIERS_MAX = 1000000,
	ORDINARY_MAX = 100000,
	MEMORY_NODE_MAX = 1023,
};
/* A day; and 10^9 pps, beyond any port. */
#define DURATION_MAX_NS INT64_C(86400000000000)
#define RATE_MAX_PPS	INT64_C(1000000000)

#define CMD                                       \
	{                                         \
		.key = "cmd", .type = FIELD_OTHER \
	}
#define NAME(k, member)                                                         \
	{                                                                       \
		.key = k, .type = FIELD_STRING, .offset = AT(member), .min = 1, \
		.max = PORT_NAME_MAX - 1                                        \
	}
#define UINT(k, member, low, high)                                                           \
	{                                                                                    \
		.key = k, .type = FIELD_UINT, .offset = AT(member), .min = low, .max = high, \
		.width = sizeof(((struct command *)0)->member)                               \
	}
#define CHOICE(k, member, names)                                                       \
	{                                                                              \
		.key = k, .type = FIELD_CHOICE, .offset = AT(member), .choices = names \
	}

const struct field no_fields[] = {CMD, {0}};

const struct field close_fields[] = {
	CMD,
	{.key = "port",
	 .type = FIELD_STRING,
	 .offset = AT(port),
	 .min = 1,
	 .max = PORT_NAME_MAX - 1,
	 .required = true},
	{0},
};

#define CHANCE(k)                                                                         \
	{                                                                                 \
		.key = #k, .type = FIELD_CHANCE, .offset = offsetof(struct port_fault, k) \
	}

static const struct field fault_fields[] = {
	CHANCE(drop),
	CHANCE(duplicate),
	CHANCE(reorder),
	CHANCE(corrupt),
	CHANCE(delay),
	{.key = "delay_ns",
	 .type = FIELD_UINT,
	 .offset = offsetof(struct port_fault, delay_ns),
	 .max = DURATION_MAX_NS,
	 .width = 8},
	{.key = "seed",
	 .type = FIELD_UINT,
	 .offset = offsetof(struct port_fault, seed),
	 .max = INT64_MAX,
	 .width = 8},
	{0},
};

const struct field open_fields[] = {
	CMD,
	{.key = "port",
	 .type = FIELD_STRING,
	 .offset = AT(config.name),
	 .min = 1,
	 .max = PORT_NAME_MAX - 1,
	 .required = true},
	{.key = "backend", .type = FIELD_OTHER, .required = true},
	{.key = "interface",
	 .type = FIELD_STRING,
	 .offset = AT(config.interface),
	 .min = 1,
	 .max = IFNAMSIZ - 1},
	{.key = "device",
	 .type = FIELD_STRING,
	 .offset = AT(config.device),
	 .min = 1,
	 .max = PORT_DEVICE_MAX - 1},
	{.key = "server", .type = FIELD_BOOL, .offset = AT(config.server)},
	CHOICE("frames", config.frames, frames_names),
	CHOICE("io", config.io, io_names),
	CHOICE("wait", config.wait, wait_names),
	{.key = "local_mac",
	 .type = FIELD_MAC,
	 .offset = AT(config.local_mac),
	 .given = AT(config.has_local_mac)},
	{.key = "peer_mac",
	 .type = FIELD_MAC,
	 .offset = AT(config.peer_mac),
	 .given = AT(config.has_peer_mac)},
	{.key = "local_ip", .type = FIELD_IP, .offset = AT(config.local_ip)},
	{.key = "peer_ip", .type = FIELD_IP, .offset = AT(config.peer_ip)},
	UINT("udp_port", config.udp_port, 1, 65535),
	UINT("frame_bytes", config.frame_bytes, FRAME_MIN_BYTES, FRAME_MAX_BYTES),
	UINT("flows", config.flows, 1, FLOWS_MAX),
	CHOICE("flow_field", config.flow_field, flow_names),
	{.key = "fault", .type = FIELD_OBJECT, .offset = AT(config.fault), .fields = fault_fields},
	{0},
};

const struct field dpdk_fields[] = {
	CMD,
	{.key = "prefix",
	 .type = FIELD_STRING,
	 .offset = AT(dpdk.prefix),
	 .min = 1,
	 .max = EAL_PREFIX_MAX - 1,
	 .required = true},
	UINT("memory_bytes", dpdk.memory_bytes, EAL_MEMORY_MIN_BYTES, EAL_MEMORY_MAX_BYTES),
	{.key = "memory_node",
	 .type = FIELD_INT,
	 .offset = AT(dpdk.memory_node),
	 .min = 0,
	 .max = MEMORY_NODE_MAX},
	{.key = "huge", .type = FIELD_BOOL, .offset = AT(dpdk.huge)},
	{.key = "pci", .type = FIELD_OTHER},
	{.key = "cpu", .type = FIELD_INT, .offset = AT(dpdk.cpu), .min = -1, .max = CPU_MAX},
	{0},
};

const struct field watch_fields[] = {
	CMD,
	{.key = "cpus", .type = FIELD_OTHER, .required = true},
	UINT("notices", watch.notices, 0, NOTICES_MAX),
	UINT("notice_ns", watch.notice_ns, 0, 60000000000),
	{0},
};

const struct field switch_fields[] = {
	CMD,
	{.key = "cpus", .type = FIELD_OTHER},
	UINT("ageing_ns", switch_.ageing_ns, 0, INT64_MAX),
	UINT("macs", switch_.macs, MAC_TABLE_MIN, MAC_TABLE_MAX),
	{0},
};

const struct field attach_fields[] = {
	CMD,
	{.key = "port",
	 .type = FIELD_STRING,
	 .offset = AT(port),
	 .min = 1,
	 .max = PORT_NAME_MAX - 1,
	 .required = true},
	UINT("vlan", attach.vlan, 0, VLAN_MAX),
	{.key = "trunk", .type = FIELD_OTHER},
	{.key = "macs", .type = FIELD_OTHER},
	{.key = "flood_pps",
	 .type = FIELD_RATE,
	 .offset = AT(attach.flood_upps),
	 .max = RATE_MAX_PPS},
	{.key = "broadcast_pps",
	 .type = FIELD_RATE,
	 .offset = AT(attach.broadcast_upps),
	 .max = RATE_MAX_PPS},
	{0},
};

const struct field mirror_fields[] = {
	CMD,
	{.key = "port",
	 .type = FIELD_STRING,
	 .offset = AT(port),
	 .min = 1,
	 .max = PORT_NAME_MAX - 1,
	 .required = true},
	CHOICE("direction", mirror_direction, direction_names),
	{.key = "file",
	 .type = FIELD_STRING,
	 .offset = AT(mirror.file),
	 .max = MIRROR_PATH_MAX - 1,
	 .required = true},
	UINT("snap_bytes", mirror.snap_bytes, 0, MIRROR_SNAP_MAX),
	{0},
};

const struct field serve_fields[] = {
	CMD,
	{.key = "role",
	 .type = FIELD_CHOICE,
	 .offset = AT(serve_role),
	 .choices = serve_roles,
	 .required = true},
	{.key = "ports", .type = FIELD_OTHER, .required = true},
	{.key = "cpu", .type = FIELD_INT, .offset = AT(trial.cpu), .min = -1, .max = CPU_MAX},
	{0},
};

const struct field trial_fields[] = {
	CMD,
	{.key = "role",
	 .type = FIELD_CHOICE,
	 .offset = AT(trial_role),
	 .choices = trial_roles,
	 .required = true},
	NAME("tx", tx),
	NAME("rx", rx),
	{.key = "cpu", .type = FIELD_INT, .offset = AT(trial.cpu), .min = -1, .max = CPU_MAX},
	{.key = "rate_pps",
	 .type = FIELD_RATE,
	 .offset = AT(trial.schedule.rate_upps),
	 .max = RATE_MAX_PPS},
	CHOICE("pattern", trial.schedule.pattern, pattern_names),
	UINT("burst", trial.schedule.burst, 1, BURST_MAX),
	UINT("seed", trial.schedule.seed, 0, INT64_MAX),
	UINT("warmup_ns", trial.warmup_ns, 0, DURATION_MAX_NS),
	{.key = "duration_ns",
	 .type = FIELD_UINT,
	 .offset = AT(trial.duration_ns),
	 .min = 1,
	 .max = DURATION_MAX_NS,
	 .width = 8,
	 .required = true},
	UINT("drain_ns", trial.drain_ns, 0, DURATION_MAX_NS),
	UINT("start_ns", trial.start_ns, 0, INT64_MAX / 2),
	UINT("outliers", trial.outliers, 0, OUTLIERS_MAX),
	UINT("ordinary", trial.ordinary, 0, ORDINARY_MAX),
	UINT("notices", trial.notices, 0, NOTICES_MAX),
	{.key = "record_sent",
	 .type = FIELD_STRING,
	 .offset = AT(trial.record_sent),
	 .max = TRIAL_FILE_MAX - 1},
	{.key = "record_received",
	 .type = FIELD_STRING,
	 .offset = AT(trial.record_received),
	 .max = TRIAL_FILE_MAX - 1},
	{0},
};

const struct field end_fields[] = {
	CMD,
	{.key = "tx_packets",
	 .type = FIELD_UINT,
	 .offset = AT(tx_packets),
	 .max = INT64_MAX,
	 .width = 8,
	 .required = true},
	{0},
};

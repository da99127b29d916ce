/* The keys of each command; see keys.h. */
#include "control/keys.h"

#include "control/command.h"
#include "stats/notices.h"

#define AT(member) offsetof(struct command, member)

static const char *const io_names[] = {"single", "batch", "mmsg", "xdp_frames", NULL};
static const char *const wait_names[] = {"block", "spin", "busy_poll", NULL};
static const char *const frames_names[] = {"udp", "all", NULL};
static const char *const direction_names[] = {"both", "rx", "tx", NULL};
static const char *const flow_names[] = {"source_port", "source_address", NULL};
static const char *const pattern_names[] = {"constant", "poisson", NULL};
static const char *const distribution_names[] = {"uniform", "normal", "pareto", NULL};
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
#define RATE_MAX_BPS	INT64_C(10000000000000)

#define CMD                                       \
	{                                         \
		.key = "cmd", .type = FIELD_OTHER \
	}
/* `size` is the size of the text's array; further arguments set more of the field, such as
 * REQUIRED. */
#define TEXT(k, member, low, size, ...)                                                            \
	{                                                                                          \
		.key = k, .type = FIELD_STRING, .offset = AT(member), .min = low, .max = (size)-1, \
		__VA_ARGS__                                                                        \
	}
#define REQUIRED	     .required = true
#define NAME(k, member, ...) TEXT(k, member, 1, PORT_NAME_MAX, __VA_ARGS__)
#define OTHER(k, ...)                                      \
	{                                                  \
		.key = k, .type = FIELD_OTHER, __VA_ARGS__ \
	}
#define FLAG(k, member)                                            \
	{                                                          \
		.key = k, .type = FIELD_BOOL, .offset = AT(member) \
	}
#define INT(k, member, low, high)                                                          \
	{                                                                                  \
		.key = k, .type = FIELD_INT, .offset = AT(member), .min = low, .max = high \
	}
#define RATE(k, member)                                                                 \
	{                                                                               \
		.key = k, .type = FIELD_RATE, .offset = AT(member), .max = RATE_MAX_PPS \
	}
#define UINT(k, member, low, high, ...)                                                      \
	{                                                                                    \
		.key = k, .type = FIELD_UINT, .offset = AT(member), .min = low, .max = high, \
		.width = sizeof(((struct command *)0)->member), __VA_ARGS__                  \
	}
#define CHOICE(k, member, names, ...)                                                   \
	{                                                                               \
		.key = k, .type = FIELD_CHOICE, .offset = AT(member), .choices = names, \
		__VA_ARGS__                                                             \
	}

const struct field no_fields[] = {CMD, {0}};

const struct field close_fields[] = {
	CMD,
	NAME("port", port, REQUIRED),
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

#define IMPAIR(member) offsetof(struct impair_config, member)
#define IMPAIR_UINT(k, member, low, high)                                                        \
	{                                                                                        \
		.key = k, .type = FIELD_UINT, .offset = IMPAIR(member), .min = low, .max = high, \
		.width = sizeof(((struct impair_config *)0)->member)                             \
	}
#define IMPAIR_CHANCE(k)                                             \
	{                                                            \
		.key = #k, .type = FIELD_CHANCE, .offset = IMPAIR(k) \
	}

static const struct field impair_fields[] = {
	IMPAIR_UINT("delay_ns", delay_ns, 0, IMPAIR_DELAY_MAX_NS),
	IMPAIR_UINT("jitter_ns", jitter_ns, 0, IMPAIR_DELAY_MAX_NS),
	{.key = "distribution",
	 .type = FIELD_CHOICE,
	 .offset = IMPAIR(distribution),
	 .choices = distribution_names},
	IMPAIR_CHANCE(loss),
	IMPAIR_CHANCE(duplicate),
	IMPAIR_CHANCE(reorder),
	IMPAIR_CHANCE(corrupt),
	IMPAIR_UINT("rate_bps", rate_bps, 0, RATE_MAX_BPS),
	IMPAIR_UINT("seed", seed, 0, INT64_MAX),
	IMPAIR_UINT("limit", limit, 1, IMPAIR_LIMIT_MAX),
	{0},
};

const struct field open_fields[] = {
	CMD,
	NAME("port", config.name, REQUIRED),
	OTHER("backend", REQUIRED),
	TEXT("interface", config.interface, 1, IFNAMSIZ),
	TEXT("device", config.device, 1, PORT_DEVICE_MAX),
	FLAG("server", config.server),
	TEXT("map", config.map, 1, PORT_DEVICE_MAX),
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
	{.key = "sender_ip", .type = FIELD_IP, .offset = AT(config.sender_ip)},
	UINT("udp_port", config.udp_port, 1, 65535),
	UINT("frame_bytes", config.frame_bytes, FRAME_MIN_BYTES, FRAME_MAX_BYTES),
	UINT("flows", config.flows, 1, FLOWS_MAX),
	CHOICE("flow_field", config.flow_field, flow_names),
	{.key = "fault", .type = FIELD_OBJECT, .offset = AT(config.fault), .fields = fault_fields},
	{0},
};

const struct field dpdk_fields[] = {
	CMD,
	TEXT("prefix", dpdk.prefix, 1, EAL_PREFIX_MAX, REQUIRED),
	UINT("memory_bytes", dpdk.memory_bytes, EAL_MEMORY_MIN_BYTES, EAL_MEMORY_MAX_BYTES),
	INT("memory_node", dpdk.memory_node, 0, MEMORY_NODE_MAX),
	FLAG("huge", dpdk.huge),
	OTHER("pci"),
	INT("cpu", dpdk.cpu, -1, CPU_MAX),
	{0},
};

const struct field watch_fields[] = {
	CMD,
	OTHER("cpus", REQUIRED),
	UINT("notices", watch.notices, 0, NOTICES_MAX),
	UINT("notice_ns", watch.notice_ns, 0, 60000000000),
	{0},
};

const struct field switch_fields[] = {
	CMD,
	OTHER("cpus"),
	UINT("ageing_ns", switch_.ageing_ns, 0, INT64_MAX),
	UINT("macs", switch_.macs, MAC_TABLE_MIN, MAC_TABLE_MAX),
	{0},
};

const struct field attach_fields[] = {
	CMD,
	NAME("port", port, REQUIRED),
	UINT("vlan", attach.vlan, 0, VLAN_MAX),
	OTHER("trunk"),
	OTHER("macs"),
	RATE("flood_pps", attach.flood_upps),
	RATE("broadcast_pps", attach.broadcast_upps),
	{.key = "impair",
	 .type = FIELD_OBJECT,
	 .offset = AT(attach.impair),
	 .fields = impair_fields,
	 .given = AT(attach.impair.given)},
	{0},
};

const struct field cut_fields[] = {
	CMD,
	NAME("port", port, REQUIRED),
	{.key = "cut", .type = FIELD_BOOL, .offset = AT(cut), .required = true},
	{0},
};

const struct field interruptions_fields[] = {
	CMD,
	UINT("room", room, 1, INTERRUPTIONS_MAX),
	{0},
};

const struct field mirror_fields[] = {
	CMD,
	NAME("port", port, REQUIRED),
	CHOICE("direction", mirror_direction, direction_names),
	TEXT("file", mirror.file, 0, MIRROR_PATH_MAX, REQUIRED),
	UINT("snap_bytes", mirror.snap_bytes, 0, MIRROR_SNAP_MAX),
	UINT("id", mirror.id, 0, INT64_MAX),
	{0},
};

const struct field serve_fields[] = {
	CMD,
	CHOICE("role", serve_role, serve_roles, REQUIRED),
	OTHER("ports", REQUIRED),
	OTHER("work_cycles"),
	INT("cpu", serve.cpu, -1, CPU_MAX),
	{0},
};

#define SCALE_UINT(k, member, low)                                                            \
	{                                                                                     \
		.key = k, .type = FIELD_UINT, .required = true, .min = low, .max = INT64_MAX, \
		.offset = offsetof(struct clock_scale, member),                               \
		.width = sizeof(((struct clock_scale *)0)->member)                            \
	}

static const struct field scale_fields[] = {
	SCALE_UINT("ticks", base.ticks, 0),
	SCALE_UINT("ns", base.ns, 0),
	SCALE_UINT("ns_per_tick", ns_per_tick, 1),
	{0},
};

#define STREAM(member) offsetof(struct command_stream, member)
#define STREAM_NAME(k, member)                                                      \
	{                                                                           \
		.key = k, .type = FIELD_STRING, .offset = STREAM(member), .min = 1, \
		.max = PORT_NAME_MAX - 1                                            \
	}
#define STREAM_UINT(k, member, low, high)                                                        \
	{                                                                                        \
		.key = k, .type = FIELD_UINT, .offset = STREAM(member), .min = low, .max = high, \
		.width = sizeof(((struct command_stream *)0)->member)                            \
	}

const struct field stream_fields[] = {
	STREAM_NAME("name", config.name),
	STREAM_NAME("tx", tx),
	STREAM_NAME("rx", rx),
	{.key = "rate_pps",
	 .type = FIELD_RATE,
	 .offset = STREAM(config.schedule.rate_upps),
	 .max = RATE_MAX_PPS},
	{.key = "pattern",
	 .type = FIELD_CHOICE,
	 .offset = STREAM(config.schedule.pattern),
	 .choices = pattern_names},
	STREAM_UINT("burst", config.schedule.burst, 1, BURST_MAX),
	STREAM_UINT("seed", config.schedule.seed, 0, INT64_MAX),
	{0},
};

static const struct field duet_fields[] = {
	{.key = "seed",
	 .type = FIELD_UINT,
	 .offset = offsetof(struct command_duet, seed),
	 .max = INT64_MAX,
	 .width = 8},
	{0},
};

const struct field trial_fields[] = {
	CMD,
	CHOICE("role", trial_role, trial_roles, REQUIRED),
	OTHER("streams", REQUIRED),
	{.key = "duet",
	 .type = FIELD_OBJECT,
	 .offset = AT(duet),
	 .fields = duet_fields,
	 .given = AT(duet.given)},
	INT("cpu", trial.cpu, -1, CPU_MAX),
	UINT("warmup_ns", trial.warmup_ns, 0, DURATION_MAX_NS),
	UINT("duration_ns", trial.duration_ns, 1, DURATION_MAX_NS, REQUIRED),
	UINT("drain_ns", trial.drain_ns, 0, DURATION_MAX_NS),
	UINT("start_ns", trial.start_ns, 0, INT64_MAX / 2),
	FLAG("probe", trial.probe),
	UINT("outliers", trial.outliers, 0, OUTLIERS_MAX),
	UINT("ordinary", trial.ordinary, 0, ORDINARY_MAX),
	UINT("notices", trial.notices, 0, NOTICES_MAX),
	{.key = "sender",
	 .type = FIELD_OBJECT,
	 .offset = AT(trial.sender_scale),
	 .fields = scale_fields,
	 .given = AT(trial.foreign)},
	TEXT("record_sent", trial.record_sent, 0, TRIAL_FILE_MAX),
	TEXT("record_received", trial.record_received, 0, TRIAL_FILE_MAX),
	TEXT("arrivals", trial.arrivals, 0, TRIAL_FILE_MAX),
	{0},
};

const struct field end_fields[] = {
	CMD,
	UINT("tx_packets", tx_packets, 0, INT64_MAX, REQUIRED),
	{0},
};

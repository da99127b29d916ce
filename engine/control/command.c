/* The commands, and the checks beyond their single keys; see command.h. */
#include "control/command.h"

#include "control/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A millisecond at 4 GHz. */
enum { WORK_MAX_TICKS = 4000000 };

/* Checks that the backend got an interface or a device. */
static int check_place(const struct command *c, char *error, size_t size)
{
	const struct port_config *p = &c->config;
	bool takes_device = c->backend->takes_device;
	const char *want = takes_device ? "device" : "interface";
	const char *foreign = takes_device ? "interface" : "device";
	if (takes_device ? !p->device[0] : !p->interface[0]) {
		snprintf(error, size, "\"%s\" is missing: \"backend\":\"%s\" opens one", want,
			 c->backend->name);
		return -EINVAL;
	}
	if (takes_device ? p->interface[0] : p->device[0]) {
		snprintf(error, size,
			 "\"%s\" cannot be combined with \"backend\":\"%s\", which opens its "
			 "\"%s\"",
			 foreign, c->backend->name, want);
		return -EINVAL;
	}
	return 0;
}

static int check_open(const json_t *object, struct command *c, char *error, size_t size)
{
	const char *name = json_string_value(json_object_get(object, "backend"));
	c->backend = name ? port_backend(name) : NULL;
	if (!c->backend) {
		size_t used = (size_t)snprintf(error, size, "\"backend\" must be one of");
		for (size_t i = 0; port_backends[i] && used < size; i++)
			used += (size_t)snprintf(error + used, size - used, " %s",
						 port_backends[i]->name);
		return -EINVAL;
	}
	int err = check_place(c, error, size);
	if (err)
		return err;
	if (json_object_get(object, "fault") && strcmp(c->backend->name, "fault") != 0) {
		snprintf(error, size, "\"fault\" is valid only with \"backend\":\"fault\"");
		return -EINVAL;
	}
	const struct port_config *p = &c->config;
	if (p->io == PORT_XDP_FRAMES && c->backend != &port_xdp) {
		snprintf(error, size,
			 "\"io\":\"xdp_frames\" is valid only with \"backend\":\"xdp\"");
		return -EINVAL;
	}
	if (p->map[0] && c->backend != &port_xdp) {
		snprintf(error, size, "\"map\" is valid only with \"backend\":\"xdp\"");
		return -EINVAL;
	}
	if (port_is_ip6(p) && p->frame_bytes < FRAME_MIN_BYTES_IP6) {
		snprintf(error, size, "\"frame_bytes\": %d is the least for IPv6, not %u",
			 FRAME_MIN_BYTES_IP6, p->frame_bytes);
		return -EINVAL;
	}
	if (p->flow_field == PORT_FLOW_SOURCE_PORT && p->udp_port + p->flows > 65536) {
		snprintf(error, size, "\"flows\": source ports from %u on allow at most %u flows",
			 p->udp_port, 65536u - p->udp_port);
		return -EINVAL;
	}
	const struct port_fault *f = &p->fault;
	if (f->drop + f->duplicate + f->reorder + f->corrupt + f->delay > 1.0000001) {
		snprintf(error, size,
			 "\"fault\": a packet has one fate, so the chances must not "
			 "add up to more than 1");
		return -EINVAL;
	}
	return 0;
}

static int check_dpdk(const json_t *object, struct command *c, char *error, size_t size)
{
	const json_t *pci = json_object_get(object, "pci");
	size_t count = json_array_size(pci);
	if (pci && !json_is_array(pci))
		count = EAL_PCI_MAX + 1;
	for (size_t i = 0; i < count && count <= EAL_PCI_MAX; i++) {
		const char *address = json_string_value(json_array_get(pci, i));
		if (!address || !eal_is_pci_address(address)) {
			count = EAL_PCI_MAX + 1;
			break;
		}
		memcpy(c->dpdk.pci[i], address, sizeof c->dpdk.pci[i]);
	}
	if (count > EAL_PCI_MAX) {
		snprintf(error, size,
			 "\"pci\" must be a list of at most %d addresses such as 0000:01:00.0",
			 EAL_PCI_MAX);
		return -EINVAL;
	}
	c->dpdk.pci_count = (unsigned)count;
	if (strspn(c->dpdk.prefix, EAL_PREFIX_CHARACTERS) != strlen(c->dpdk.prefix)) {
		snprintf(error, size, "\"prefix\" must be of letters, digits, \"-\" and \"_\"");
		return -EINVAL;
	}
	return 0;
}

/* Reads how long packets take besides, of each side. */
static int take_work(const json_t *work, struct command *c, unsigned sides, char *error,
		     size_t size)
{
	bool good = !work || json_array_size(work) == sides;
	for (unsigned i = 0; i < sides && work && good; i++) {
		const json_t *ticks = json_array_get(work, i);
		json_int_t value = json_integer_value(ticks);
		good = json_is_integer(ticks) && value >= 0 && value <= WORK_MAX_TICKS;
		c->serve.work_ticks[i] = (uint64_t)value;
	}
	if (good)
		return 0;
	snprintf(error, size, "\"work_cycles\" must be %u whole number%s from 0 to %d", sides,
		 sides == 1 ? "" : "s", WORK_MAX_TICKS);
	return -EINVAL;
}

static int check_serve(const json_t *object, struct command *c, char *error, size_t size)
{
	const json_t *ports = json_object_get(object, "ports");
	unsigned each = c->serve_role == ROLE_FORWARD ? 2 : 1;
	size_t count = json_array_size(ports);
	c->serve.reflects = c->serve_role == ROLE_REFLECT;
	if (count != each && count != SERVICE_SIDES * each) {
		snprintf(error, size,
			 "\"ports\" must name %u port%s for %s, or as many for each of %d sides",
			 each, each == 1 ? "" : "s", serve_roles[c->serve_role], SERVICE_SIDES);
		return -EINVAL;
	}
	for (unsigned i = 0; i < count; i++) {
		const json_t *port = json_array_get(ports, i);
		if (!json_is_string(port) || json_string_length(port) >= PORT_NAME_MAX) {
			snprintf(error, size, "\"ports\" must be names of ports");
			return -EINVAL;
		}
		memcpy(c->serve_ports[i], json_string_value(port), json_string_length(port) + 1);
		for (unsigned j = 0; j < i; j++)
			if (strcmp(c->serve_ports[i], c->serve_ports[j]) == 0) {
				snprintf(error, size, "\"ports\": %s needs different ports",
					 serve_roles[c->serve_role]);
				return -EINVAL;
			}
	}
	c->serve.port_count = (unsigned)count;
	return take_work(json_object_get(object, "work_cycles"), c, (unsigned)count / each, error,
			 size);
}

static int check_stream(const json_t *object, struct command *c, struct command_stream *s,
			char *error, size_t size)
{
	bool needs_tx = c->trial_role != ROLE_SINK, needs_rx = c->trial_role != ROLE_GENERATE;
	if (!json_is_object(object)) {
		snprintf(error, size, "a stream is an object");
		return -EINVAL;
	}
	s->config.schedule.burst = 1;
	s->config.schedule.seed = 1;
	int err = field_fill(object, stream_fields, s, error, size);
	if (err)
		return err;
	if (needs_tx != (s->tx[0] != '\0') || needs_rx != (s->rx[0] != '\0')) {
		snprintf(error, size, "role %s takes %s", trial_roles[c->trial_role],
			 !needs_rx   ? "\"tx\" only"
			 : !needs_tx ? "\"rx\" only"
				     : "\"tx\" and \"rx\"");
		return -EINVAL;
	}
	return 0;
}

/* A stream without a name has its number, from 1. */
static int check_names(struct command *c, char *error, size_t size)
{
	for (unsigned i = 0; i < c->stream_count; i++) {
		char *name = c->streams[i].config.name;
		if (!name[0])
			snprintf(name, PORT_NAME_MAX, "%u", i + 1);
		for (unsigned j = 0; j < i; j++)
			if (strcmp(name, c->streams[j].config.name) == 0) {
				snprintf(error, size, "two of \"streams\" have the \"name\" %s",
					 name);
				return -EINVAL;
			}
	}
	return 0;
}

/* Reads the list of streams; what is wrong with one says which it is. */
static int take_streams(const json_t *streams, struct command *c, char *error, size_t size)
{
	size_t count = json_array_size(streams);
	if (count < 1 || count > TRIAL_STREAMS_MAX) {
		snprintf(error, size, "\"streams\" must be a list of 1 to %d streams",
			 TRIAL_STREAMS_MAX);
		return -EINVAL;
	}
	for (; c->stream_count < count; c->stream_count++) {
		char why[COMMAND_ERROR_BYTES / 2];
		unsigned i = c->stream_count;
		int err = check_stream(json_array_get(streams, i), c, &c->streams[i], why,
				       sizeof why);
		if (err) {
			snprintf(error, size, "\"streams\"[%u]: %s", i, why);
			return err;
		}
	}
	return check_names(c, error, size);
}

/* Couples the schedules of a duet's streams. */
static int take_duet(struct command *c, char *error, size_t size)
{
	struct schedule_config *a = &c->streams[0].config.schedule,
			       *b = &c->streams[1].config.schedule;
	if (c->stream_count != 2) {
		snprintf(error, size, "\"duet\" takes two \"streams\", side A and side B");
		return -EINVAL;
	}
	if (a->rate_upps == 0 || a->rate_upps != b->rate_upps || a->pattern != b->pattern ||
	    a->burst != b->burst || a->seed != b->seed) {
		snprintf(error, size,
			 "\"duet\": its streams share a schedule, so they need the same "
			 "\"rate_pps\", \"pattern\", \"burst\" and \"seed\", and a rate");
		return -EINVAL;
	}
	a->side = SCHEDULE_SIDE_A;
	b->side = SCHEDULE_SIDE_B;
	a->side_seed = b->side_seed = c->duet.seed;
	return 0;
}

static int check_trial(const json_t *object, struct command *c, char *error, size_t size)
{
	int err = take_streams(json_object_get(object, "streams"), c, error, size);
	if (err)
		return err;
	if (c->duet.given)
		err = take_duet(c, error, size);
	if (err)
		return err;
	if (c->stream_count > 1 && (c->trial.record_sent[0] || c->trial.record_received[0])) {
		snprintf(error, size,
			 "\"record_sent\" and \"record_received\" take a single stream: a "
			 "record has no place for its number");
		return -EINVAL;
	}
	if (c->trial.foreign && c->trial_role != ROLE_SINK) {
		snprintf(error, size,
			 "only role sink takes \"sender\": the others send themselves");
		return -EINVAL;
	}
	snprintf(c->trial.role, sizeof c->trial.role, "%s", trial_roles[c->trial_role]);
	return 0;
}

/* Reads a list of different CPUs; empty without the key. */
static int take_cpus(const json_t *cpus, int *list, unsigned max, unsigned *count, char *error,
		     size_t size)
{
	size_t given = json_array_size(cpus);
	bool good = !cpus || (json_is_array(cpus) && given <= max);
	for (size_t i = 0; i < given && good; i++) {
		const json_t *cpu = json_array_get(cpus, i);
		good = json_is_integer(cpu) && json_integer_value(cpu) >= 0 &&
		       json_integer_value(cpu) <= CPU_MAX;
		list[i] = good ? (int)json_integer_value(cpu) : 0;
		for (size_t j = 0; j < i; j++)
			good = good && list[i] != list[j];
	}
	*count = (unsigned)given;
	if (good)
		return 0;
	snprintf(error, size, "\"cpus\" must be a list of at most %u different CPUs", max);
	return -EINVAL;
}

static int check_switch(const json_t *object, struct command *c, char *error, size_t size)
{
	return take_cpus(json_object_get(object, "cpus"), c->switch_.cpus, SWITCH_THREADS_MAX,
			 &c->switch_.cpu_count, error, size);
}

static int check_watch(const json_t *object, struct command *c, char *error, size_t size)
{
	int err = take_cpus(json_object_get(object, "cpus"), c->watch_cpus, WATCH_CPUS_MAX,
			    &c->watch.count, error, size);
	c->watch.cpus = c->watch_cpus;
	if (err || c->watch.count > 0)
		return err;
	snprintf(error, size, "\"cpus\" must name one CPU at least");
	return -EINVAL;
}

static int check_impair(const struct impair_config *m, char *error, size_t size)
{
	/* In jitters: how far below its mean a distribution reaches. */
	static const double below[] = {
		[IMPAIR_UNIFORM] = 1, [IMPAIR_NORMAL] = 4, [IMPAIR_PARETO] = 2.0 / 3};
	if ((double)m->delay_ns < (double)m->jitter_ns * below[m->distribution]) {
		snprintf(error, size,
			 "\"impair\": \"delay_ns\" must be at least %.2g times \"jitter_ns\", or "
			 "packets would leave before they arrive",
			 below[m->distribution]);
		return -EINVAL;
	}
	if (m->reorder > 0 && m->delay_ns == 0 && m->rate_bps == 0) {
		snprintf(
			error, size,
			"\"impair\": \"reorder\" needs \"delay_ns\" or \"rate_bps\": otherwise no packet waits to be overtaken");
		return -EINVAL;
	}
	return 0;
}

static int check_attach(const json_t *object, struct command *c, char *error, size_t size)
{
	int err = check_impair(&c->attach.impair, error, size);
	if (err)
		return err;
	const json_t *trunk = json_object_get(object, "trunk");
	const json_t *macs = json_object_get(object, "macs");
	struct switch_port_config *p = &c->attach;
	bool good = !trunk || json_is_array(trunk);
	for (size_t i = 0; i < json_array_size(trunk) && good; i++) {
		const json_t *vlan = json_array_get(trunk, i);
		json_int_t v = json_integer_value(vlan);
		good = json_is_integer(vlan) && v >= 1 && v <= VLAN_MAX && v != p->vlan &&
		       !p->trunk[v];
		if (good)
			p->trunk[v] = true;
	}
	if (!good) {
		snprintf(error, size,
			 "\"trunk\" must be a list of VLANs from 1 to %d, each once, and without "
			 "\"vlan\"",
			 VLAN_MAX);
		return -EINVAL;
	}
	good = !macs || (json_is_array(macs) && json_array_size(macs) <= SWITCH_STATIC_MAX);
	for (size_t i = 0; i < json_array_size(macs) && good; i++) {
		const char *text = json_string_value(json_array_get(macs, i));
		good = text && field_parse_mac(text, p->macs[i]) && !(p->macs[i][0] & 1);
		p->mac_count++;
	}
	if (good)
		return 0;
	snprintf(error, size,
		 "\"macs\" must be a list of at most %d addresses such as 02:00:00:00:00:01, "
		 "none of a group",
		 SWITCH_STATIC_MAX);
	return -EINVAL;
}

static int check_mirror(const json_t *object, struct command *c, char *error, size_t size)
{
	static const unsigned directions[] = {MIRROR_RX | MIRROR_TX, MIRROR_RX, MIRROR_TX};
	(void)object;
	c->mirror.directions = directions[c->mirror_direction];
	snprintf(error, size, "\"file\" must be an absolute path, or empty to end the mirror");
	if (c->mirror.file[0] && c->mirror.file[0] != '/')
		return -EINVAL;
	snprintf(error, size, "\"id\" names the mirror to end, so \"file\" must be empty");
	return c->mirror.id && c->mirror.file[0] ? -EINVAL : 0;
}

static const struct {
	const char *name;
	enum command_kind kind;
	const struct field *fields;
	int (*check)(const json_t *object, struct command *c, char *error, size_t size);
} commands[] = {
	{"hello", COMMAND_HELLO, no_fields, NULL},
	{"open", COMMAND_OPEN, open_fields, check_open},
	{"close", COMMAND_CLOSE, close_fields, NULL},
	{"dpdk", COMMAND_DPDK, dpdk_fields, check_dpdk},
	{"serve", COMMAND_SERVE, serve_fields, check_serve},
	{"stats", COMMAND_STATS, no_fields, NULL},
	{"stop", COMMAND_STOP, no_fields, NULL},
	{"trial", COMMAND_TRIAL, trial_fields, check_trial},
	{"end", COMMAND_END, end_fields, NULL},
	{"abort", COMMAND_ABORT, no_fields, NULL},
	{"pause", COMMAND_PAUSE, no_fields, NULL},
	{"resume", COMMAND_RESUME, no_fields, NULL},
	{"switch", COMMAND_SWITCH, switch_fields, check_switch},
	{"attach", COMMAND_ATTACH, attach_fields, check_attach},
	{"detach", COMMAND_DETACH, close_fields, NULL},
	{"switch_stats", COMMAND_SWITCH_STATS, no_fields, NULL},
	{"macs", COMMAND_MACS, no_fields, NULL},
	{"cut", COMMAND_CUT, cut_fields, NULL},
	{"mirror", COMMAND_MIRROR, mirror_fields, check_mirror},
	{"watch", COMMAND_WATCH, watch_fields, check_watch},
	{"clock", COMMAND_CLOCK, no_fields, NULL},
	{"interruptions", COMMAND_INTERRUPTIONS, interruptions_fields, NULL},
};

static void set_defaults(struct command *c)
{
	memset(c, 0, sizeof *c);
	memcpy(c->name, "?", 2);
	c->config.udp_port = 7999;
	c->config.frame_bytes = FRAME_MIN_BYTES;
	c->config.flows = 1;
	c->trial.cpu = -1;
	c->serve.cpu = -1;
	c->switch_.ageing_ns = SWITCH_AGEING_NS;
	c->switch_.macs = SWITCH_MACS;
	c->attach.impair.limit = IMPAIR_LIMIT;
	c->attach.impair.seed = 1;
	eal_config_init(&c->dpdk);
}

static int parse_object(const json_t *object, struct command *out, char *error, size_t size)
{
	const char *name = json_string_value(json_object_get(object, "cmd"));
	if (!name) {
		snprintf(error, size, "\"cmd\" is missing or not a string");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		memcpy(out->name, name, strlen(name) + 1);
		out->kind = commands[i].kind;
		int err = field_fill(object, commands[i].fields, out, error, size);
		if (!err && commands[i].check)
			err = commands[i].check(object, out, error, size);
		return err;
	}
	int used = snprintf(error, size, "unknown command \"%.32s\"; known are", name);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (used >= 0 && (size_t)used < size)
			used += snprintf(error + used, size - (size_t)used, " %s",
					 commands[i].name);
	return -EINVAL;
}

int command_parse(const char *line, size_t length, struct command *out, char *error, size_t size)
{
	json_error_t problem;
	set_defaults(out);
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &problem);
	if (!object) {
		snprintf(error, size, "not JSON: %s, at byte %d", problem.text, problem.position);
		return -EINVAL;
	}
	int err = -EINVAL;
	if (json_is_object(object))
		err = parse_object(object, out, error, size);
	else
		snprintf(error, size, "a command is a JSON object");
	json_decref(object);
	return err;
}

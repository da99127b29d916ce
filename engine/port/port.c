/* The table of backends, and their shared code; see port.h. */
#include "port/port.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct port_ops *const port_backends[] = {
	&port_udp,   &port_raw,	   &port_ring,	&port_xdp, &port_dpdk,
	&port_vhost, &port_memory, &port_fault, NULL,
};

const struct port_ops *port_backend(const char *name)
{
	for (size_t i = 0; port_backends[i]; i++)
		if (strcmp(port_backends[i]->name, name) == 0)
			return port_backends[i];
	return NULL;
}

void port_init(struct port *port, const struct port_ops *ops, const struct port_config *config)
{
	port->ops = ops;
	port->config = *config;
	static const char *const waits[] = {
		[PORT_BLOCK] = "block", [PORT_SPIN] = "spin", [PORT_BUSY_POLL] = "busy_poll"};
	snprintf(port->waits, sizeof port->waits, "%s", waits[config->wait]);
	port->burst = config->io == PORT_SINGLE ? 1 : PORT_BURST;
}

void port_note(struct port *port, const char *format, ...)
{
	if (port->note_count == PORT_NOTES_MAX)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(port->notes[port->note_count++], sizeof port->notes[0], format, args);
	va_end(args);
}

uint64_t *port_drop_counter(struct port *port, const char *name)
{
	for (unsigned i = 0; i < port->drop_count; i++)
		if (strcmp(port->drops[i].name, name) == 0)
			return &port->drops[i].count;
	/* The names are fixed in the sources and fewer than PORT_COUNTERS_MAX. */
	struct port_counter *c = &port->drops[port->drop_count++];
	c->name = name;
	return &c->count;
}

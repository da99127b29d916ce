/* Opens memory ports for the tests of what uses ports. */
#ifndef NINES_MEMORY_TEST_PORT_H
#define NINES_MEMORY_TEST_PORT_H

#include "port/port.h"
#include "test.h"

#include <arpa/inet.h>

static inline struct port *open_memory_port(const char *name, const char *interface,
					    enum port_io io, uint32_t frame_bytes)
{
	struct port_config config = {.io = io,
				     .wait = PORT_SPIN,
				     .frame_bytes = frame_bytes,
				     .flows = 1,
				     .udp_port = 7000,
				     .local_ip.s6_addr32 = {0, 0, htonl(0xffff), htonl(0x0a000001)},
				     .peer_ip.s6_addr32 = {0, 0, htonl(0xffff), htonl(0x0a000002)}};
	struct port *port;
	char error[256];
	snprintf(config.name, sizeof config.name, "%s", name);
	snprintf(config.interface, sizeof config.interface, "%s", interface);
	assert_int_equal(port_memory.open(&config, &port, error, sizeof error), 0);
	return port;
}

#endif

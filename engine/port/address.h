/*
 * address: an IP address of a port. IPv4 ones are kept as IPv6 maps them, ::ffff:198.18.0.1 (RFC 4291,
 * section 2.5.5.2), and :: is none.
 */
#ifndef NINES_ADDRESS_H
#define NINES_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool address_given(const struct in6_addr *a)
{
	return !IN6_IS_ADDR_UNSPECIFIED(a);
}

static inline bool address_is_ip6(const struct in6_addr *a)
{
	return address_given(a) && !IN6_IS_ADDR_V4MAPPED(a);
}

/* In network byte order; 0: none, or IPv6. */
static inline uint32_t address_ip4(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a) ? a->s6_addr32[3] : 0;
}

static inline struct in6_addr address_of_ip4(uint32_t ip)
{
	return (struct in6_addr){.s6_addr32 = {0, 0, htonl(0xffff), ip}};
}

/* The address of a flow: its last 32 bits count up. */
static inline struct in6_addr address_of_flow(const struct in6_addr *first, uint32_t flow)
{
	struct in6_addr a = *first;
	a.s6_addr32[3] = htonl(ntohl(a.s6_addr32[3]) + flow);
	return a;
}

#endif

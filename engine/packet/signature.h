/*
 * signature: what the headers of a packet tell of the way it came: by which interface it left the last
 * node, through how many routers, and from whom. A table holds the signatures of a trial, which on most
 * paths are one or two. filter.bpf.c includes this, too, so it needs nothing of libc.
 */
#ifndef NINES_SIGNATURE_H
#define NINES_SIGNATURE_H

enum { SIGNATURES_MAX = 16, SIGNATURE_WORDS = 7 };

/* As in the headers: in network byte order. IPv4 addresses as IPv6 maps them (port/address.h). */
struct signature_fields {
	unsigned char destination[6], source[6];
	unsigned char ttl, tos; /* of IPv6 the hop limit and the traffic class */
	unsigned short ip_length; /* with the IP header */
	unsigned int ip_source[4], ip_destination[4];
	unsigned short udp_source, udp_destination;
	unsigned int unused; /* 0 */
};

struct signature {
	union {
		struct signature_fields fields;
		unsigned long long words[SIGNATURE_WORDS]; /* to compare */
	};
};

_Static_assert(sizeof(struct signature_fields) == sizeof(unsigned long long[SIGNATURE_WORDS]),
	       "whole words");

struct signature_row {
	struct signature signature;
	unsigned long long packets;
};

struct signatures {
	struct signature_row rows[SIGNATURES_MAX];
	unsigned long long others; /* packets whose signature found no room */
	unsigned int count; /* of rows */
	unsigned int last; /* the row of the last packet */
};

/* Flows differ by their source port or address, which says nothing of the way: such a packet counts as
 * one of flow 0. */
struct signature_flows {
	unsigned int count; /* 1: no difference */
	unsigned short port; /* of flow 0, in host byte order; 0: ports do not differ */
	unsigned int
		address; /* of flow 0: its last 32 bits in host byte order; 0: addresses do not differ */
};

static inline void signature_join_flows(struct signature *s, const struct signature_flows *flows)
{
	struct signature_fields *f = &s->fields;
	unsigned int port = __builtin_bswap16(f->udp_source);
	unsigned int address = __builtin_bswap32(f->ip_source[3]);
	if (flows->port && port >= flows->port && port - flows->port < flows->count)
		f->udp_source = __builtin_bswap16(flows->port);
	if (flows->address && address >= flows->address && address - flows->address < flows->count)
		f->ip_source[3] = __builtin_bswap32(flows->address);
}

static inline int signature_equal(const struct signature *a, const struct signature *b)
{
	unsigned long long differ = 0;
	for (int i = 0; i < SIGNATURE_WORDS; i++)
		differ |= a->words[i] ^ b->words[i];
	return differ == 0;
}

#endif

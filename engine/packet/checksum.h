/*
 * checksum: the Internet checksum (RFC 1071), whole and incremental (RFC 1624).
 *
 * Sums are kept in 64 bits over 32-bit words in memory order and folded at the
 * end: ones' complement addition is independent of byte order and word size
 * (RFC 1071, section 2).
 */
#ifndef NINES_CHECKSUM_H
#define NINES_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Adds bytes at an even offset to a sum; up to 4 GiB fit. */
static inline uint64_t checksum_add(uint64_t sum, const void *data, size_t length)
{
	const uint8_t *p = data;
	uint64_t word;
	uint32_t half;
	uint16_t quarter;
	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&word, p, 8);
		sum += (uint32_t)word;
		sum += word >> 32;
	}
	if (length >= 4) {
		memcpy(&half, p, 4);
		sum += half;
		p += 4;
		length -= 4;
	}
	if (length >= 2) {
		memcpy(&quarter, p, 2);
		sum += quarter;
		p += 2;
		length -= 2;
	}
	if (length)
		sum += *p; /* the last odd byte is the high byte of a big-endian word */
	return sum;
}

static inline uint16_t checksum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A UDP checksum of 0 means "none", so 0 is sent as 0xffff (RFC 768). */
static inline uint16_t checksum_udp_field(uint64_t sum)
{
	uint16_t c = (uint16_t)~checksum_fold(sum);
	return c ? c : 0xffff;
}

/* RFC 1624, eqn. 3: HC' = ~(~HC + ~m + m'), for a 32-bit field. */
static inline uint16_t checksum_update32(uint16_t field, uint32_t before, uint32_t after)
{
	uint64_t sum = (uint16_t)~field;
	sum += (uint32_t)~before;
	sum += after;
	return (uint16_t)~checksum_fold(sum);
}

#endif

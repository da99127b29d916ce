/*
 * payload: the 18 bytes after the UDP header, little-endian; they fit a 64-byte frame. The first
 * bytes are compatible with MoonSniff.
 *
 *   0 u32 id   4 u8 0x55   5 u8 stream   6 u32 send lag ns   10 u64 TSC at the send
 */
#ifndef NINES_PAYLOAD_H
#define NINES_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	PAYLOAD_BYTES = 18,
	PAYLOAD_MARK = 0x55, /* MoonSniff's identification byte */
	STREAM_WARMUP = 0,
	STREAM_MEASURED = 1,
};

struct payload {
	uint32_t id;
	uint8_t mark;
	uint8_t stream;
	uint32_t send_lag_ns; /* saturated at 4.29 s */
	uint64_t tx_ticks;
} __attribute__((packed));

_Static_assert(sizeof(struct payload) == PAYLOAD_BYTES, "the protocol's layout");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "x86-64 only: the TSC is the clock");

static inline uint32_t payload_saturate_lag(uint64_t lag_ns)
{
	return lag_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)lag_ns;
}

/* The payload as in memory, in three words, to write and sum it from registers. Reading back a
 * struct's unaligned fields would stall on its stores. */
struct payload_words {
	uint64_t first, second;
	uint16_t last;
};

static inline struct payload_words payload_pack(const struct payload *p)
{
	return (struct payload_words){
		.first = p->id | (uint64_t)p->mark << 32 | (uint64_t)p->stream << 40 |
			 (uint64_t)p->send_lag_ns << 48,
		.second = p->send_lag_ns >> 16 | p->tx_ticks << 16,
		.last = (uint16_t)(p->tx_ticks >> 48),
	};
}

static inline void payload_store(uint8_t *data, const struct payload_words *w)
{
	memcpy(data, &w->first, 8);
	memcpy(data + 8, &w->second, 8);
	memcpy(data + 16, &w->last, 2);
}

static inline uint64_t payload_sum(const struct payload_words *w)
{
	return (w->first & UINT32_MAX) + (w->first >> 32) + (w->second & UINT32_MAX) +
	       (w->second >> 32) + w->last;
}

static inline bool payload_read(const uint8_t *data, uint32_t length, struct payload *out)
{
	if (length < PAYLOAD_BYTES)
		return false;
	memcpy(out, data, sizeof *out);
	return out->mark == PAYLOAD_MARK && out->stream <= STREAM_MEASURED;
}

#endif

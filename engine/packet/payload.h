/*
 * payload: the 18 bytes after the UDP header, little-endian; they fit a 64-byte frame. The first
 * bytes are compatible with MoonSniff. docs/reference/engine-protocol.md has the layout.
 *
 *   0 u32 id   4 u8 0x55   5 u8 flags   6 u32 send lag ns   10 u48 TSC at the send   16 u16 stream
 *
 * Where the UDP payload has room for it, its last 22 bytes are a second stamp, the trailer: a mark
 * of four bytes and the same 18. It is found by its end also where a device has put headers before
 * the first one. A mark of one byte would not do for that: 1 of 256 other bytes is the same.
 */
#ifndef NINES_PAYLOAD_H
#define NINES_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	PAYLOAD_BYTES = 18,
	PAYLOAD_MARK = 0x55, /* MoonSniff's identification byte */
	PAYLOAD_TICKS_BITS = 48,
	TRAILER_MARK_BYTES = 4,
	TRAILER_BYTES = TRAILER_MARK_BYTES + PAYLOAD_BYTES,
	/* A shorter payload has no trailer: it would overlap the first stamp. */
	TRAILER_LEAST_BYTES = PAYLOAD_BYTES + TRAILER_BYTES,
};

/* On the wire "9NS" and a byte that is in no ASCII text. */
#define TRAILER_MARK UINT32_C(0xf1534e39)

enum payload_flags {
	PAYLOAD_MEASURED = 1, /* else of the warm-up */
	PAYLOAD_SIDE_B = 2, /* of a duet's second device */
	PAYLOAD_PROBE = 4, /* of a trial that only looks for a path */
	PAYLOAD_FLAGS = PAYLOAD_MEASURED | PAYLOAD_SIDE_B | PAYLOAD_PROBE,
};

struct payload {
	uint64_t tx_ticks; /* as read: its low 48 bits; see payload_ticks_near */
	uint32_t id;
	uint32_t send_lag_ns; /* saturated at 4.29 s */
	uint16_t stream; /* its place in the list of streams; ids count per stream */
	uint8_t flags;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "x86-64 only: the TSC is the clock");

static inline uint32_t payload_saturate_lag(uint64_t lag_ns)
{
	return lag_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)lag_ns;
}

/* The whole counter of a stamp, of which only the low 48 bits are known: the value closest to another
 * reading of the same counter. 48 bits wrap after 30 hours at 2.6 GHz, so it is right for stamps of
 * 15 hours before and after. */
static inline uint64_t payload_ticks_near(uint64_t low, uint64_t near)
{
	enum { UNKNOWN = 64 - PAYLOAD_TICKS_BITS };
	return near + (uint64_t)((int64_t)((low - near) << UNKNOWN) >> UNKNOWN);
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
		.first = p->id | (uint64_t)PAYLOAD_MARK << 32 | (uint64_t)p->flags << 40 |
			 (uint64_t)p->send_lag_ns << 48,
		.second = p->send_lag_ns >> 16 | p->tx_ticks << 16,
		.last = p->stream,
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
	struct payload_words w;
	if (length < PAYLOAD_BYTES)
		return false;
	memcpy(&w.first, data, 8);
	memcpy(&w.second, data + 8, 8);
	memcpy(&w.last, data + 16, 2);
	*out = (struct payload){
		.tx_ticks = w.second >> 16,
		.id = (uint32_t)w.first,
		.send_lag_ns = (uint32_t)(w.first >> 48 | w.second << 16),
		.stream = w.last,
		.flags = (uint8_t)(w.first >> 40),
	};
	/* Other flags have no meaning yet: bytes that have one are no stamp. */
	return (w.first >> 32 & (0xff | (uint64_t)(uint8_t)~PAYLOAD_FLAGS << 8)) == PAYLOAD_MARK;
}

/* The trailer's place in a UDP payload; only where that has TRAILER_LEAST_BYTES. */
static inline uint32_t trailer_at(uint32_t payload_bytes)
{
	return payload_bytes - TRAILER_BYTES;
}

static inline void trailer_store(uint8_t *data, const struct payload_words *w)
{
	uint32_t mark = TRAILER_MARK;
	memcpy(data, &mark, TRAILER_MARK_BYTES);
	payload_store(data + TRAILER_MARK_BYTES, w);
}

/* Reads the trailer that these bytes end with. */
static inline bool trailer_read(const uint8_t *data, uint32_t length, struct payload *out)
{
	uint32_t mark;
	if (length < TRAILER_BYTES)
		return false;
	data += length - TRAILER_BYTES;
	memcpy(&mark, data, TRAILER_MARK_BYTES);
	return mark == TRAILER_MARK && payload_read(data + TRAILER_MARK_BYTES, PAYLOAD_BYTES, out);
}

#endif

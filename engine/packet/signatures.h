/*
 * signatures: counts packets by the way they came; see signature.h. One thread owns a table.
 */
#ifndef NINES_SIGNATURES_H
#define NINES_SIGNATURES_H

#include "packet/frame.h"
#include "packet/signature.h"
#include "port/port.h"

#include <smmintrin.h>

/* The headers of a frame as they lie there, but for what tells nothing of the way (identification, fragment, checksums,
 * lengths twice): comparing them with those of the next frame costs a fraction of what making its signature does, whose
 * fields would have to be put together first. The words overlap. */
enum { WAY_WORDS_MAX = 4 };

struct way_words {
	__m128i words[WAY_WORDS_MAX];
};

/* What a receiver counts by frames. */
struct ways {
	struct way_words mask[2]; /* what tells of the way, in IPv4 and IPv6 */
	struct way_words
		last; /* of the frame before; no frame is like zeros, as its Ethernet type is none */
	uint64_t run; /* packets like it, not yet in the table */
	struct signature_flows flows;
	struct signatures table;
};

void ways_begin(struct ways *w, const struct port_config *c);

/* How many words the headers have, and where each begins. */
static inline unsigned way_words(bool ip6)
{
	return ip6 ? WAY_WORDS_MAX : 3;
}

static inline unsigned way_word_at(bool ip6, unsigned i)
{
	static const unsigned at[2][WAY_WORDS_MAX] = {{0, 16, 26}, {0, 16, 32, 46}};
	return at[ip6][i];
}

static inline __m128i way_word(const struct ways *w, const uint8_t *data, bool ip6, unsigned i)
{
	__m128i word = _mm_loadu_si128((const __m128i *)(data + way_word_at(ip6, i)));
	return _mm_and_si128(word, w->mask[ip6].words[i]);
}

static inline __attribute__((always_inline)) bool way_same(const struct ways *w,
							   const uint8_t *data, bool ip6)
{
	__m128i differ = _mm_setzero_si128();
	for (unsigned i = 0; i < way_words(ip6); i++) {
		__m128i word = way_word(w, data, ip6, i);
		differ = _mm_or_si128(differ, _mm_xor_si128(word, w->last.words[i]));
	}
	return _mm_testz_si128(differ, differ);
}

static inline bool way_is_last(const struct ways *w, const uint8_t *data)
{
	/* Two loops of a known length each. */
	return frame_is_ip6(data) ? way_same(w, data, true) : way_same(w, data, false);
}

/* Counts a packet of another way than the one before, or of another flow. */
void way_count(struct ways *w, const uint8_t *data);

/* Counts a frame that frame_check has found good. */
static inline void ways_count(struct ways *w, const uint8_t *data)
{
	if (__builtin_expect(way_is_last(w, data), 1))
		w->run++;
	else
		way_count(w, data);
}

/* Puts what was counted into the table. */
void ways_end(struct ways *w);

/* Counts packets of a signature. */
void signatures_add(struct signatures *t, const struct signature *s, uint64_t packets);

/* Adds another table, in which a signature may have several rows. */
void signatures_merge(struct signatures *t, const struct signatures *from);

/* How the flows that a port receives differ. */
struct signature_flows signature_flows_of(const struct port_config *c);

#endif

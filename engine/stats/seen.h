/*
 * seen: which packet ids have arrived: unique, duplicate, reordered, late.
 *
 * A bitmap over ids, as large as the schedule, or a window that slides with the
 * largest id when the schedule is too long. A packet is reordered when its id is
 * smaller than the largest before it (RFC 4737, section 3.3). Ids on the wire are
 * 32 bits and are extended to 64 bits, near the largest seen.
 *
 * Owned by the measuring thread.
 */
#ifndef NINES_SEEN_H
#define NINES_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum seen_verdict { SEEN_UNIQUE, SEEN_REORDERED, SEEN_DUPLICATE, SEEN_LATE };

struct seen {
	uint64_t *words;
	uint64_t word_mask;
	uint64_t last_word; /* highest word of the window */
	uint64_t next; /* largest id seen + 1 */
	uint64_t unique, duplicate, reordered, late;
};

enum { SEEN_BITS_MAX_LOG2 = 29 }; /* 64 MiB, of all that share them */

/* For `ids` ids, or any number when 0; with the bits of 1 of so many `sharers`. -ENOMEM. */
int seen_init(struct seen *s, uint64_t ids, unsigned sharers);
void seen_free(struct seen *s);
size_t seen_bytes(const struct seen *s);

/* The ids below the largest that never came, as runs of neighbours. */
struct seen_missing {
	uint64_t runs, longest, longest_from;
};

/* Whether the window has forgotten none of the first ids. */
bool seen_whole(const struct seen *s);

/* False where it has. */
bool seen_missing(const struct seen *s, struct seen_missing *out);

/* Whether a packet came, where the window has forgotten none. */
bool seen_has(const struct seen *s, uint64_t id);

/* Moves the window so that it ends with `word`. */
void seen_slide(struct seen *s, uint64_t word);

static inline enum seen_verdict seen_record(struct seen *s, uint32_t wire_id)
{
	uint64_t id = s->next + (uint64_t)(int64_t)(int32_t)(wire_id - (uint32_t)s->next);
	uint64_t word = id >> 6, bit = UINT64_C(1) << (id & 63);
	/* Ids "before" 0 wrap to huge ones and fall in here, too; no trial sends them. */
	if (__builtin_expect(id >= s->next && id - s->next < UINT32_MAX, 1)) {
		if (word > s->last_word)
			seen_slide(s, word);
		s->words[word & s->word_mask] |= bit;
		s->next = id + 1;
		s->unique++;
		return SEEN_UNIQUE;
	}
	if (word > s->last_word || s->last_word - word > s->word_mask) {
		s->late++;
		return SEEN_LATE;
	}
	if (s->words[word & s->word_mask] & bit) {
		s->duplicate++;
		return SEEN_DUPLICATE;
	}
	s->words[word & s->word_mask] |= bit;
	s->unique++;
	s->reordered++;
	return SEEN_REORDERED;
}

#endif

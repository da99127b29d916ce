/* The bitmap over packet ids; see seen.h. */
#include "stats/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* At rate 0 the number is unknown: 2^26 ids are 3 s at 20 Mpps, and more than
 * any queue reorders. */
enum { SEEN_BITS_UNKNOWN_LOG2 = 26, SEEN_BITS_MIN_LOG2 = 12 };

int seen_init(struct seen *s, uint64_t ids, unsigned sharers)
{
	unsigned log2 = SEEN_BITS_MIN_LOG2, most = SEEN_BITS_MAX_LOG2,
		 unknown = SEEN_BITS_UNKNOWN_LOG2;
	memset(s, 0, sizeof *s);
	for (; sharers > 1 && unknown > SEEN_BITS_MIN_LOG2; sharers = (sharers + 1) / 2, most--)
		unknown--;
	if (ids == 0)
		log2 = unknown;
	while (log2 < most && (UINT64_C(1) << log2) < ids)
		log2++;
	s->word_mask = (UINT64_C(1) << (log2 - 6)) - 1;
	s->words = calloc(s->word_mask + 1, sizeof *s->words);
	return s->words ? 0 : -ENOMEM;
}

void seen_free(struct seen *s)
{
	free(s->words);
	s->words = NULL;
}

size_t seen_bytes(const struct seen *s)
{
	return (size_t)(s->word_mask + 1) * sizeof *s->words;
}

bool seen_whole(const struct seen *s)
{
	return s->next == 0 || (s->next - 1) >> 6 <= s->word_mask;
}

bool seen_missing(const struct seen *s, struct seen_missing *out)
{
	uint64_t run = 0;
	memset(out, 0, sizeof *out);
	if (!seen_whole(s))
		return false;
	for (uint64_t id = 0; id < s->next; id++) {
		uint64_t word = s->words[id >> 6];
		/* Most words are full. */
		if (!run && (id & 63) == 0 && word == UINT64_MAX) {
			id += 63;
			continue;
		}
		if (word >> (id & 63) & 1) {
			run = 0;
			continue;
		}
		out->runs += ++run == 1;
		if (run > out->longest) {
			out->longest = run;
			out->longest_from = id + 1 - run;
		}
	}
	return true;
}

bool seen_has(const struct seen *s, uint64_t id)
{
	return s->words[(id >> 6) & s->word_mask] >> (id & 63) & 1;
}

void seen_slide(struct seen *s, uint64_t word)
{
	if (word - s->last_word > s->word_mask)
		s->last_word = word - s->word_mask - 1;
	while (s->last_word < word)
		s->words[++s->last_word & s->word_mask] = 0;
}

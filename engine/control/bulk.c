/* Packs bulk data; see bulk.h. */
#include "control/bulk.h"

#include <stdlib.h>
#include <string.h>

static void add(struct bulk *b, const void *data, size_t bytes)
{
	if (b->size + bytes > b->capacity && !b->failed) {
		size_t capacity = 2 * (b->size + bytes) + 4096;
		uint8_t *larger = realloc(b->data, capacity);
		b->failed = !larger;
		if (larger) {
			b->data = larger;
			b->capacity = capacity;
		}
	}
	if (b->failed)
		return;
	memcpy(b->data + b->size, data, bytes);
	b->size += bytes;
}

static void add_number(struct bulk *b, int64_t value)
{
	uint64_t rest = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
	uint8_t bytes[10];
	size_t count = 0;
	while (rest > 0x7f) {
		bytes[count++] = (uint8_t)(rest | 0x80);
		rest >>= 7;
	}
	bytes[count++] = (uint8_t)rest;
	add(b, bytes, count);
}

void bulk_counts(struct bulk *b, const struct histogram *h)
{
	int64_t zeros = 0;
	for (uint32_t i = 0; h->count > 0 && i < HISTOGRAM_COUNTS; i++) {
		if (h->counts[i] == 0) {
			zeros++;
			continue;
		}
		if (zeros > 0)
			add_number(b, -zeros);
		zeros = 0;
		add_number(b, (int64_t)h->counts[i]);
	}
}

/* Begins a section; its length is set when it ends. */
static size_t begin(struct bulk *b, enum bulk_kind kind, uint32_t stream)
{
	struct bulk_section section = {.kind = kind, .stream = stream};
	size_t at = b->size;
	add(b, &section, sizeof section);
	return at;
}

static void end(struct bulk *b, size_t at)
{
	uint64_t bytes = b->size - at - sizeof(struct bulk_section);
	struct bulk_header header;
	if (b->failed)
		return;
	memcpy(b->data + at + offsetof(struct bulk_section, bytes), &bytes, sizeof bytes);
	memcpy(&header, b->data, sizeof header);
	header.sections++;
	memcpy(b->data, &header, sizeof header);
}

static void add_histogram(struct bulk *b, enum bulk_kind kind, uint32_t stream,
			  const struct histogram *h)
{
	size_t at = begin(b, kind, stream);
	bulk_counts(b, h);
	end(b, at);
}

uint32_t bulk_blocks(const struct trial *t)
{
	const struct blocks *b = &t->receiver.blocks;
	return t->interrupted ? blocks_begun(b, t->end_ticks) : b->count;
}

/* Ticks since a moment, in ns. */
static int64_t between(const struct clock_scale *s, uint64_t from, uint64_t ticks)
{
	if (ticks >= from)
		return (int64_t)clock_ticks_to_ns(s, ticks - from);
	return -(int64_t)clock_ticks_to_ns(s, from - ticks);
}

/* Since the measured packets began. It converts by the scale of the whole trial: the scale at its
 * start is off by milliseconds after an hour. */
static int64_t since(const struct trial *t, uint64_t ticks)
{
	return between(&t->scale_end, t->measured_ticks, ticks);
}

static void add_list(struct bulk *b, uint32_t thread, const struct bulk_list *list)
{
	const struct interruptions *l = list->of;
	uint32_t count = atomic_load_explicit(&l->count, memory_order_acquire);
	size_t at = begin(b, BULK_INTERRUPTIONS, thread);
	int64_t before = 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t ns = between(&list->scale, list->from_ticks, l->list[i].at_ticks);
		add_number(b, ns - before);
		add_number(b, (int64_t)clock_ticks_to_ns(&list->scale, l->list[i].length_ticks));
		add_number(b, l->list[i].kind);
		before = ns;
	}
	end(b, at);
}

static void add_packets(struct bulk *b, enum bulk_kind kind, const struct trial *t,
			const struct outlier *first, uint32_t count)
{
	size_t at = begin(b, kind, BULK_ALL_STREAMS);
	for (uint32_t i = 0; i < count; i++) {
		const struct outlier *o = &first[i];
		uint64_t lag_ticks = clock_ns_to_ticks(&t->scale_end, o->send_lag_ns);
		struct bulk_packet p = {
			.id = o->id,
			.stream = o->stream,
			/* In a loop the same thread sent the packet. */
			.tx_cpu = t->outlet_count > 0 ? t->cpu_ran : -1,
			.rx_cpu = (int32_t)o->rx_cpu,
			.latency_ns = (int64_t)o->latency_ns,
			.from_tx_ns = (int64_t)o->from_tx_ns,
			.send_lag_ns = (int64_t)o->send_lag_ns,
			.intended_ns = since(t, o->tx_ticks - lag_ticks),
			.tx_ns = since(t, o->tx_ticks),
			.rx_ns = since(t, o->rx_ticks),
			.poll_gap_ns = (int64_t)o->poll_gap_ns,
		};
		add(b, &p, sizeof p);
	}
	end(b, at);
}

static struct bulk begin_block(void)
{
	struct bulk_header header = {.magic = BULK_MAGIC, .version = BULK_VERSION};
	struct bulk b = {0};
	add(&b, &header, sizeof header);
	return b;
}

static uint8_t *end_block(struct bulk *b, size_t *size)
{
	if (b->failed) {
		free(b->data);
		return NULL;
	}
	*size = b->size;
	return b->data;
}

uint8_t *bulk_of_lists(const struct bulk_list *lists, unsigned count, size_t *size)
{
	struct bulk b = begin_block();
	for (unsigned i = 0; i < count; i++)
		add_list(&b, i, &lists[i]);
	return end_block(&b, size);
}

uint8_t *bulk_of(const struct trial *t, size_t *size)
{
	const struct receiver *r = &t->receiver;
	/* A sink knows the lag of packets that arrived, a sender the lag of packets that it sent. */
	const struct histogram *lag = t->outlet_count > 0 ? &t->sender.send_lag : &r->send_lag;
	const struct bulk_list list = {t->interruptions, t->scale_end, t->measured_ticks};
	struct bulk b = begin_block();
	add_histogram(&b, BULK_LATENCY, BULK_ALL_STREAMS, &r->latency);
	add_histogram(&b, BULK_FROM_TX, BULK_ALL_STREAMS, &r->from_tx);
	add_histogram(&b, BULK_SEND_LAG, BULK_ALL_STREAMS, lag);
	add_histogram(&b, BULK_SPACING, BULK_ALL_STREAMS, &t->sender.spacing);
	for (unsigned i = 0; i < t->stream_count; i++)
		if (t->streams[i].latency)
			add_histogram(&b, BULK_LATENCY, i, t->streams[i].latency);
	for (uint32_t i = 0; t->inlet_count > 0 && i < bulk_blocks(t); i++)
		add_histogram(&b, BULK_LATENCY_BLOCK, BULK_ALL_STREAMS, &r->blocks.list[i]);
	add_packets(&b, BULK_OUTLIERS, t, r->worst.heap, r->worst.size);
	add_packets(&b, BULK_ORDINARY, t, r->sample.kept, r->sample.size);
	add_list(&b, 0, &list);
	return end_block(&b, size);
}

char *bulk_base64(const uint8_t *data, size_t size, size_t *length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((size + 2) / 3 * 4 + 1), *to = text;
	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)data[i] << 16;
		if (left > 1)
			three |= (uint32_t)data[i + 1] << 8;
		if (left > 2)
			three |= data[i + 2];
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[three & 63] : '=';
	}
	*to = '\0';
	*length = (size_t)(to - text);
	return text;
}

/* The command interruptions; see interruptions_reply.h. */
#include "control/interruptions_reply.h"

#include "control/bulk.h"
#include "control/reply.h"

#include <errno.h>

static json_int_t ns(const struct clock_scale *scale, uint64_t ticks)
{
	return (json_int_t)clock_ticks_to_ns(scale, ticks);
}

/* How much longer they took that are not listed, by how much longer each took at most. */
static json_t *lengths(const struct unlisted *u, const struct clock_scale *scale)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < INTERRUPTIONS_DIGITS; i++)
		if (u->of_digits[i] > 0)
			json_array_append_new(list,
					      json_pack("{s:I,s:I}", "each_below_ns",
							ns(scale, UINT64_C(2) << i) + 1, "total_ns",
							ns(scale, u->of_digits[i])));
	return list;
}

static json_t *kind(const struct interruptions *l, const struct gaps *g,
		    const struct clock_scale *scale, unsigned k)
{
	char name[48];
	const struct unlisted *out = &l->unlisted[k];
	uint64_t spent = g->spent_ticks[k] - l->spent_before[k], from = gaps_listed_from(g, k);
	gaps_kind(k, name, sizeof name);
	json_t *o = json_pack("{s:i,s:s,s:I,s:I,s:I,s:I,s:o}", "kind", (int)k, "name", name,
			      "usual_ns", ns(scale, gaps_usual(g, k)), "spent_ns", ns(scale, spent),
			      "unlisted", (json_int_t)out->count, "unlisted_ns",
			      ns(scale, out->ticks), "unlisted_lengths", lengths(out, scale));
	if (from != UINT64_MAX)
		json_object_set_new(o, "threshold_ns", json_integer(ns(scale, from)));
	return o;
}

json_t *reply_interruptions(const struct interruptions *l, const struct gaps *g,
			    const struct clock_scale *scale)
{
	json_t *kinds = json_array();
	for (unsigned k = 0; k < GAPS_KINDS; k++)
		if (g->turns[k] > 0)
			json_array_append_new(kinds, kind(l, g, scale, k));
	return json_pack("{s:I,s:I,s:o}", "count", (json_int_t)atomic_load(&l->count), "overflow",
			 (json_int_t)l->overflow, "kinds", kinds);
}

/* A thread that lists its interruptions. */
struct lister {
	int cpu, tid;
	const struct interruptions *list;
	const struct gaps *gaps;
};

/* Ticks since a list began are converted by a scale between then and now: that from the start of the
 * engine may be hours old. */
static json_t *answer(const struct lister *threads, unsigned count)
{
	struct bulk_list lists[SWITCH_THREADS_MAX];
	struct clock_point now = clock_read_point();
	json_t *o = reply_accepted("interruptions"), *list = json_array();
	for (unsigned i = 0; i < count; i++) {
		const struct lister *t = &threads[i];
		const struct clock_point *begin = &t->list->begin;
		struct clock_scale scale = clock_scale_between(*begin, now);
		lists[i] = (struct bulk_list){t->list, scale, begin->ticks};
		json_array_append_new(list,
				      json_pack("{s:i,s:i,s:I,s:o}", "cpu", t->cpu, "tid", t->tid,
						"begin_ns", (json_int_t)begin->ns, "interruptions",
						reply_interruptions(t->list, t->gaps, &scale)));
	}
	size_t size = 0;
	uint8_t *data = bulk_of_lists(lists, count, &size);
	json_object_set_new(o, "end_ns", json_integer((json_int_t)now.ns));
	json_object_set_new(o, "threads", list);
	json_object_set_new(o, "bulk", reply_bulk(data, size));
	return o;
}

static json_t *begun(int err)
{
	return err ? reply_refusal("interruptions", err,
				   err == -EALREADY ? "it lists already, until the next serve"
						    : "no list of that length")
		   : reply_accepted("interruptions");
}

static json_t *not_begun(void)
{
	return reply_refusal("interruptions", -ENODATA,
			     "no interruptions are listed; send \"room\" first");
}

json_t *interruptions_of_service(struct service *s, uint32_t room)
{
	if (room > 0)
		return begun(service_list(s, room));
	if (!s->interruptions)
		return not_begun();
	const struct lister thread = {s->config.cpu, s->tid, s->interruptions, &s->gaps};
	return answer(&thread, 1);
}

json_t *interruptions_of_trial(const struct trial *t)
{
	const struct lister thread = {t->config.cpu, t->tid, t->interruptions, &t->gaps};
	return answer(&thread, 1);
}

json_t *interruptions_of_switch(struct switch_ *s, uint32_t room)
{
	struct lister threads[SWITCH_THREADS_MAX];
	if (room > 0)
		return begun(switch_list(s, room));
	for (unsigned i = 0; i < s->thread_count; i++) {
		const struct switch_thread *t = &s->threads[i];
		if (!t->interruptions)
			return not_begun();
		threads[i] = (struct lister){t->cpu, t->tid, t->interruptions, &t->gaps};
	}
	return answer(threads, s->thread_count);
}

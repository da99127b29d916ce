/* Reads JSON objects strictly by a table; see field.h. */
#include "control/field.h"

#include "port/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field *find(const struct field *fields, const char *key)
{
	for (; fields->key; fields++)
		if (strcmp(fields->key, key) == 0)
			return fields;
	return NULL;
}

static int wrong(const struct field *f, const char *want, char *error, size_t size)
{
	snprintf(error, size, "\"%s\" must be %s", f->key, want);
	return -EINVAL;
}

static int fill_string(const json_t *v, const struct field *f, char *at, char *error, size_t size)
{
	char want[80];
	snprintf(want, sizeof want, "a text of %" PRId64 " to %" PRId64 " bytes", f->min, f->max);
	if (!json_is_string(v) || (int64_t)json_string_length(v) < f->min ||
	    (int64_t)json_string_length(v) > f->max)
		return wrong(f, want, error, size);
	memcpy(at, json_string_value(v), json_string_length(v) + 1);
	return 0;
}

static int fill_integer(const json_t *v, const struct field *f, void *at, char *error, size_t size)
{
	char want[80];
	snprintf(want, sizeof want, "a whole number from %" PRId64 " to %" PRId64, f->min, f->max);
	if (!json_is_integer(v) || json_integer_value(v) < f->min || json_integer_value(v) > f->max)
		return wrong(f, want, error, size);
	int64_t value = json_integer_value(v);
	/* Little-endian: the low bytes come first. */
	memcpy(at, &value, f->type == FIELD_INT ? sizeof(int32_t) : f->width);
	return 0;
}

static int fill_number(const json_t *v, const struct field *f, void *at, char *error, size_t size)
{
	double max = f->type == FIELD_CHANCE ? 1 : (double)f->max;
	double value = json_number_value(v);
	char want[80];
	snprintf(want, sizeof want, "a number from 0 to %.0f", max);
	if (!json_is_number(v) || !(value >= 0) || value > max)
		return wrong(f, want, error, size);
	if (f->type == FIELD_CHANCE) {
		memcpy(at, &value, sizeof value);
		return 0;
	}
	uint64_t upps = (uint64_t)(value * 1e6 + 0.5);
	if (value > 0 && upps == 0)
		return wrong(f, "0 or at least 0.000001", error, size);
	memcpy(at, &upps, sizeof upps);
	return 0;
}

bool field_parse_mac(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int end = 0;
	if (strlen(text) != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    end != 17)
		return false;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return true;
}

static int fill_mac(const json_t *v, const struct field *f, uint8_t *at, char *error, size_t size)
{
	const char *text = json_string_value(v);
	if (!text || !field_parse_mac(text, at))
		return wrong(f, "a MAC address such as 02:00:00:00:00:01", error, size);
	return 0;
}

static int fill_ip(const json_t *v, const struct field *f, struct in6_addr *at, char *error,
		   size_t size)
{
	const char *text = json_string_value(v);
	uint32_t ip4;
	if (text && inet_pton(AF_INET, text, &ip4) == 1)
		*at = address_of_ip4(ip4);
	else if (!text || inet_pton(AF_INET6, text, at) != 1)
		return wrong(f, "an IP address such as 198.18.0.1 or 2001:2::1", error, size);
	return 0;
}

static int fill_choice(const json_t *v, const struct field *f, void *at, char *error, size_t size)
{
	char want[200] = "one of";
	const char *text = json_string_value(v);
	for (uint32_t i = 0; f->choices[i]; i++) {
		if (text && strcmp(text, f->choices[i]) == 0) {
			memcpy(at, &i, sizeof i);
			return 0;
		}
		size_t used = strlen(want);
		snprintf(want + used, sizeof want - used, " %s", f->choices[i]);
	}
	return wrong(f, want, error, size);
}

static int fill_one(const json_t *v, const struct field *f, char *into, char *error, size_t size)
{
	void *at = into + f->offset;
	int err = 0;
	switch (f->type) {
	case FIELD_STRING:
		err = fill_string(v, f, at, error, size);
		break;
	case FIELD_UINT:
	case FIELD_INT:
		err = fill_integer(v, f, at, error, size);
		break;
	case FIELD_RATE:
	case FIELD_CHANCE:
		err = fill_number(v, f, at, error, size);
		break;
	case FIELD_MAC:
		err = fill_mac(v, f, at, error, size);
		break;
	case FIELD_IP:
		err = fill_ip(v, f, at, error, size);
		break;
	case FIELD_BOOL:
		if (!json_is_boolean(v))
			err = wrong(f, "true or false", error, size);
		else
			memcpy(at, &(bool){json_is_true(v)}, sizeof(bool));
		break;
	case FIELD_CHOICE:
		err = fill_choice(v, f, at, error, size);
		break;
	case FIELD_OBJECT:
		if (!json_is_object(v))
			err = wrong(f, "an object", error, size);
		else
			err = field_fill(v, f->fields, at, error, size);
		break;
	case FIELD_OTHER:
		break;
	}
	if (!err && f->given)
		memcpy(into + f->given, &(bool){true}, sizeof(bool));
	return err;
}

int field_fill(const json_t *object, const struct field *fields, void *into, char *error,
	       size_t size)
{
	const char *key;
	json_t *value;
	/* jansson's iteration does not accept const, but changes nothing. */
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		const struct field *f = find(fields, key);
		if (!f) {
			size_t used = (size_t)snprintf(error, size,
						       "unknown key \"%.64s\"; known are", key);
			for (; fields->key && used < size; fields++)
				used += (size_t)snprintf(error + used, size - used, " %s",
							 fields->key);
			return -EINVAL;
		}
		int err = fill_one(value, f, into, error, size);
		if (err)
			return err;
	}
	for (; fields->key; fields++)
		if (fields->required && !json_object_get(object, fields->key)) {
			snprintf(error, size, "\"%s\" is missing", fields->key);
			return -EINVAL;
		}
	return 0;
}

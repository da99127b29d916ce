/* Finds the second stamp; see trailer.h. */
#include "packet/trailer.h"

#include <net/ethernet.h>

enum {
	TYPE_AT = 12, /* the EtherType, behind both addresses */
	TAG_BYTES = 4,
	TAGS_MAX = 4, /* more than any network nests */
	TYPE_SERVICE_TAG = 0x88a8, /* IEEE 802.1ad */
	IPV4_LENGTH_AT = 2, /* of the whole packet; RFC 791 */
	IPV4_BYTES = 20,
	IPV6_LENGTH_AT = 4, /* of what follows the header; RFC 8200 */
	IPV6_BYTES = 40,
};

static uint32_t u16_at(const uint8_t *data)
{
	return (uint32_t)data[0] << 8 | data[1];
}

/* Where the IP packet behind the MAC header and VLAN tags ends; 0: there is none, or it is cut. */
static uint32_t ip_end(const uint8_t *frame, uint32_t length)
{
	uint32_t at = TYPE_AT, type = 0;
	for (int tags = 0; tags <= TAGS_MAX && at + 2 <= length; tags++, at += TAG_BYTES) {
		type = u16_at(frame + at);
		if (type != ETHERTYPE_VLAN && type != TYPE_SERVICE_TAG)
			break;
	}
	at += 2;
	uint32_t end = 0;
	if (type == ETHERTYPE_IP && at + IPV4_BYTES <= length)
		end = at + u16_at(frame + at + IPV4_LENGTH_AT);
	else if (type == ETHERTYPE_IPV6 && at + IPV6_BYTES <= length)
		end = at + IPV6_BYTES + u16_at(frame + at + IPV6_LENGTH_AT);
	return end <= length ? end : 0;
}

int trailer_find(const uint8_t *frame, uint32_t length, struct payload *out)
{
	uint32_t ends[2] = {ip_end(frame, length), length};
	for (int i = 0; i < 2; i++)
		if (trailer_read(frame, ends[i], out))
			return (int)(ends[i] - TRAILER_BYTES);
	return -1;
}

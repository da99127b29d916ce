/* Reads, checks and rewrites tags; see vlan.h. */
#include "switch/vlan.h"

#include <string.h>

enum { ADDRESSES = 12, TAGGED_MIN = 18 };

struct vlan_tag vlan_read(const uint8_t *frame, uint32_t length)
{
	struct vlan_tag none = {0};
	if (length < TAGGED_MIN || (frame[12] << 8 | frame[13]) != VLAN_TPID)
		return none;
	return (struct vlan_tag){.tagged = true, .control = (uint16_t)(frame[14] << 8 | frame[15])};
}

uint16_t vlan_enter(const struct vlan_port *p, struct vlan_tag tag)
{
	if (!p->aware)
		return VLAN_NONE;
	uint16_t vlan = tag.control & 0xfff;
	/* A tag of VLAN 0 carries a priority only (802.1Q, 6.9.1). */
	if (!tag.tagged || vlan == 0)
		return p->access ? p->access : VLAN_DENIED;
	return vlan_on_trunk(p, vlan) ? vlan : VLAN_DENIED;
}

uint32_t vlan_rewrite(uint8_t *to, const uint8_t *frame, uint32_t length, enum vlan_exit how,
		      struct vlan_tag tag, uint16_t vlan)
{
	uint32_t from = ADDRESSES + (tag.tagged ? VLAN_TAG_BYTES : 0), at = ADDRESSES;
	memcpy(to, frame, ADDRESSES);
	if (how == VLAN_EXIT_TAGGED) {
		uint16_t control = (uint16_t)((tag.control & 0xf000) | vlan);
		const uint8_t bytes[VLAN_TAG_BYTES] = {VLAN_TPID >> 8, VLAN_TPID & 0xff,
						       (uint8_t)(control >> 8), (uint8_t)control};
		memcpy(to + at, bytes, sizeof bytes);
		at += VLAN_TAG_BYTES;
	}
	memcpy(to + at, frame + from, length - from);
	return length - from + at;
}

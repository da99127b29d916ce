/*
 * A port in no VLAN takes every frame unchanged and passes it only to other such ports. An access
 * VLAN takes untagged frames and sends them untagged; a trunk takes and sends the frames of its
 * VLANs tagged. A port may be both.
 */
#ifndef NINES_VLAN_H
#define NINES_VLAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	VLAN_MAX = 4094,
	VLAN_TPID = 0x8100, /* 802.1Q's tag, at offset 12 */
	VLAN_TAG_BYTES = 4,
	VLAN_NONE = 0, /* frames of ports in no VLAN */
	VLAN_DENIED = 0xffff,
};

struct vlan_port {
	uint16_t access; /* 0: none */
	bool aware; /* in any VLAN at all */
	uint64_t trunk[64]; /* a bit for each VLAN */
};

/* The tag in the first bytes of a frame. */
struct vlan_tag {
	bool tagged;
	uint16_t control; /* priority, drop eligibility, VLAN */
};

static inline void vlan_port_init(struct vlan_port *p, uint16_t access)
{
	*p = (struct vlan_port){.access = access, .aware = access != 0};
}

static inline void vlan_port_add(struct vlan_port *p, uint16_t vlan)
{
	p->trunk[vlan / 64] |= UINT64_C(1) << vlan % 64;
	p->aware = true;
}

static inline bool vlan_on_trunk(const struct vlan_port *p, uint16_t vlan)
{
	return p->trunk[vlan / 64] >> vlan % 64 & 1;
}

struct vlan_tag vlan_read(const uint8_t *frame, uint32_t length);

/* The VLAN of a frame that arrived at a port, or VLAN_DENIED. */
uint16_t vlan_enter(const struct vlan_port *p, struct vlan_tag tag);

/* Whether frames of a VLAN leave by a port, and whether they do so tagged. */
enum vlan_exit { VLAN_EXIT_DENIED, VLAN_EXIT_AS_IT_IS, VLAN_EXIT_TAGGED, VLAN_EXIT_UNTAGGED };

static inline enum vlan_exit vlan_leave(const struct vlan_port *p, uint16_t vlan)
{
	if (!p->aware)
		return vlan == VLAN_NONE ? VLAN_EXIT_AS_IT_IS : VLAN_EXIT_DENIED;
	if (vlan == VLAN_NONE)
		return VLAN_EXIT_DENIED;
	if (vlan == p->access)
		return VLAN_EXIT_UNTAGGED;
	return vlan_on_trunk(p, vlan) ? VLAN_EXIT_TAGGED : VLAN_EXIT_DENIED;
}

/* Whether a frame must be copied and rewritten to leave this way. Also if its tag is already right:
 * the frame is still in a guest's memory, and the guest might change the tag after the check. */
static inline bool vlan_must_rewrite(enum vlan_exit how, struct vlan_tag tag)
{
	return how == VLAN_EXIT_TAGGED || (how == VLAN_EXIT_UNTAGGED && tag.tagged);
}

/* Copies a frame with its tag changed; `to` has room for VLAN_TAG_BYTES more. Returns the new
 * length. */
uint32_t vlan_rewrite(uint8_t *to, const uint8_t *frame, uint32_t length, enum vlan_exit how,
		      struct vlan_tag tag, uint16_t vlan);

#endif

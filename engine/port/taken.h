/*
 * The mark (struct sk_buff) of frames whose way ends because raw or ring have taken
 * them, so that who records what the kernel drops can tell them from others.
 */
#ifndef NINES_PORT_TAKEN_H
#define NINES_PORT_TAKEN_H

enum { TAKEN_MARK = 0x6e696e65 };

#endif

/*
 * The mark (struct sk_buff) of frames that are dropped because raw or ring have taken them. It lets
 * a recorder of the kernel's drops tell them from others.
 */
#ifndef NINES_PORT_TAKEN_H
#define NINES_PORT_TAKEN_H

enum { TAKEN_MARK = 0x6e696e65 };

#endif

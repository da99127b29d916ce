/* pci: whether a PCI function may be opened, to say why not before EAL only fails. */
#ifndef NINES_PCI_H
#define NINES_PCI_H

#include <stddef.h>

/* A function must be there, and be held by a driver that hands it to processes.
 * `sysfs` is "/sys", or another tree of that form. -ENODEV with the reason. */
int pci_check(const char *sysfs, const char *address, char *error, size_t size);

#endif

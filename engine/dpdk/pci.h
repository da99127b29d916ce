/* pci: whether a PCI function may be opened, to say why not before EAL only fails. */
#ifndef NINES_PCI_H
#define NINES_PCI_H

#include <stdbool.h>
#include <stddef.h>

/* A function must be there, and be held by a driver that hands it to processes.
 * `sysfs` is "/sys", or another tree of that form. -ENODEV with the reason. */
int pci_check(const char *sysfs, const char *address, char *error, size_t size);

/* Whether the function has to be given physical addresses, as no IOMMU translates for
 * it: its driver is one of uio's, or vfio in its mode without an IOMMU, as in most
 * virtual machines. */
bool pci_needs_physical(const char *sysfs, const char *address);

#endif

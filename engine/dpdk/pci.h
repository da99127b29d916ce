/* pci: checks whether a PCI function may be opened, to give a reason; EAL would only fail. */
#ifndef NINES_PCI_H
#define NINES_PCI_H

#include <stdbool.h>
#include <stddef.h>

/* Checks that a function exists, and that its driver hands it to processes.
 * `sysfs` is "/sys", or another tree of that form. -ENODEV with the reason. */
int pci_check(const char *sysfs, const char *address, char *error, size_t size);

/* Whether the function needs physical addresses because it has no IOMMU: its driver is one of
 * uio's, or vfio in its mode without an IOMMU, as in most virtual machines. */
bool pci_needs_physical(const char *sysfs, const char *address);

#endif

// Package hugepages reserves hugepages for labs, and gives them back.
//
// The kernel has a number for each pool, a size of pages on a NUMA node, which
// anybody may raise and lower (Documentation/admin-guide/mm/hugetlbpage.rst). Labs
// that share it must not restore what they found, or the one that ends first takes
// the other's pages: each adds what it lacks and takes away what it added. A ledger,
// a file that all labs of a host share under a lock, says what each has added. A
// change is in it before it is made, with the number before and after, so that
// whoever comes next can tell how far a killed process got. What others do to the
// number in between is left as it is. A lab's claim is released with the undoing of its
// journal; should that file be lost, whoever comes next gives back what was added for it.
//
// Releasing pages that are still in use makes them surplus: the kernel frees them
// with their last user. Needs root.
package hugepages

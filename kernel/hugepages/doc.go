// Package hugepages reserves hugepages for labs, and releases them.
//
// The kernel has a page count for each pool, that is for a page size on a NUMA node, which
// any process may raise and lower (Documentation/admin-guide/mm/hugetlbpage.rst). Labs that
// share a pool must not restore the count that they found: the lab that ends first would
// take the other's pages. So each lab adds the pages that are missing, and removes what it
// added. A ledger, a file that all labs of a host share under a lock, records what each has
// added. A change is recorded before it is made, with the count before and after, so that
// the next process can tell how far a killed one got. Changes of the count by others in
// between stay. Undoing a lab's journal releases its claim; if that file is lost, the next
// process releases what was added for it.
//
// Pages that are still in use when they are released become surplus: the kernel frees them
// with their last user. Needs root.
package hugepages

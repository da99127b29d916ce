// Package journal remembers what a lab made on the host, so that exactly that can
// be removed again after any crash.
//
// A journal is a file of JSON lines. Before a step is made its intent is appended,
// with everything that undoing needs; after it, a done line with what was learnt
// (a process's id and start time, a directory's inode). Undo goes backwards and is
// idempotent: it tolerates what is absent, a step that was never made and a torn
// last line, and checks the identity of what it finds, so that a recycled process
// id or a name that somebody else has taken since is left alone.
//
// Lines are appended with one write(2) each and not synced: the page cache
// outlives a killed process, and after a reboot nothing is left to undo but files
// (the header's boot id tells). Only one process writes at a time: package lab
// holds a lock. A Journal may be used by several goroutines.
//
// A journal knows the order of undoing and, but for files, none of the things: whoever
// makes a kind of thing registers it (Register), and no step can be begun that nobody
// could undo.
//
// Devices inside a lab's own namespaces, mounts in its nodes and what runs there
// go with the process that holds the namespaces, so a whole lab's undo ends the
// processes first, all at once, and lets the kernel do the rest.
package journal

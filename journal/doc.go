// Package journal records what a lab made on the host, so that undo can remove exactly that
// after any crash.
//
// A journal is a file of JSON lines. Before a step is made, an intent line with everything that
// undo needs is appended; after it, a done line with what was learnt (a process's ID and start
// time, a directory's inode). Undo goes backwards and is idempotent: it tolerates absent things,
// a step that was never made and a torn last line. It checks the identity of what it finds, so
// that it leaves a reused process ID alone, or a name that another program has taken since.
//
// Each line has its number and a checksum, and an operation ends with an end line (Close). So damage is seen: lines that
// are changed, missing or moved. If the end line is missing, the process was killed, or the file was cut off; these look
// alike. UndoAll then also searches for what belongs to the journal's owner: the packages that make things find them by
// the token or the prefix (RegisterSearch). A copy of the first line (CopySuffix) has both of these.
//
// Each line is appended with one write(2) and not synced: the page cache survives a killed
// process, and after a reboot only files are left to undo (the boot ID in the header shows
// a reboot). Only one process writes at a time: package lab holds a lock. Several goroutines may
// use a Journal.
//
// A journal knows in which order to undo, but not how, except for files. The package that makes
// a kind of thing registers its undo (Register); a step without a registered undo cannot begin.
//
// Devices inside a lab's namespaces, mounts in its nodes and processes there disappear with the
// process that holds the namespaces. So undoing a whole lab first ends all processes at once,
// and the kernel does the rest.
package journal

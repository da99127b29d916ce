// Package thread runs what changes a thread for good: its namespaces, its scheduling.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Ending calls f on a thread of its own, which ends with it, and returns what f does. The main thread
// never ends (mexit in Go's runtime/proc.go), and what it has is what /proc shows of the whole process:
// so if the goroutine has that one, it keeps it from f.
func Ending(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		// Another goroutine gets another thread, as this one holds the main thread.
		held := make(chan error)
		go func() {
			runtime.LockOSThread()
			held <- f()
		}()
		done <- <-held
		runtime.UnlockOSThread()
	}()
	return <-done
}

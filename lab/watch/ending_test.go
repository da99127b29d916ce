package watch

import (
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/health"
)

// TestEndingAsNoted: where the kernel does not tell how a process ended, what its keeper has noted counts.
func TestEndingAsNoted(t *testing.T) {
	for noted, want := range map[string]health.Ending{
		"": health.EndedUnknown, proc.EndedWith(0): health.EndedWell, proc.EndedWith(3): health.EndedBadly,
		proc.EndedBy(unix.SIGINT): health.EndedWell, proc.EndedBy(unix.SIGKILL): health.EndedBadly,
	} {
		if got := new(watchedNode).ending(noted); got != want {
			t.Errorf("noted as %q: %v, want %v", noted, got, want)
		}
	}
}

package netns

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// wholeTries is how often a listing is repeated that a change has interrupted.
const wholeTries = 20

// Whole asks again for a list of the kernel's until nothing changed while it was read: a list that a change has
// interrupted may lack entries that were there all the time (NLM_F_DUMP_INTR in linux/netlink.h).
func Whole[T any](list func() ([]T, error)) (found []T, err error) {
	for range wholeTries {
		if found, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return found, err
		}
	}
	return nil, err
}

package netns

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestWholeAsksAgain(t *testing.T) {
	calls := 0
	got, err := Whole(func() ([]int, error) {
		calls++
		if calls < 3 {
			return []int{1}, netlink.ErrDumpInterrupted
		}
		return []int{1, 2}, nil
	})
	if err != nil || len(got) != 2 || calls != 3 {
		t.Errorf("%v, %v after %d calls", got, err, calls)
	}
	got, err = Whole(func() ([]int, error) { return []int{1}, netlink.ErrDumpInterrupted })
	if !errors.Is(err, netlink.ErrDumpInterrupted) || got != nil {
		t.Errorf("a list that is never whole: %v, %v", got, err)
	}
}

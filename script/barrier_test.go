package script

import (
	"strings"
	"testing"
)

// answered is the answer at a barrier, if there is one.
func answered(answer <-chan error) (bool, error) {
	select {
	case err := <-answer:
		return true, err
	default:
		return false, nil
	}
}

func TestABarrierOpensWhenAllAreThere(t *testing.T) {
	b := NewBarriers([]string{"a", "b", "c"})
	for round := range 2 { // it can be used again
		first, second := b.Arrive("a", ""), b.Arrive("c", "")
		for _, answer := range []<-chan error{first, second} {
			if open, err := answered(answer); open {
				t.Fatalf("round %d: it opened before b came: %v", round, err)
			}
		}
		for _, answer := range []<-chan error{b.Arrive("b", ""), first, second} {
			if open, err := answered(answer); !open || err != nil {
				t.Fatalf("round %d: all are there, and it is open: %v, %v", round, open, err)
			}
		}
	}
}

func TestTagsAreBarriersOfTheirOwn(t *testing.T) {
	b := NewBarriers([]string{"a", "b"})
	started, done := b.Arrive("a", "started"), b.Arrive("b", "done")
	if open, err := answered(started); open {
		t.Fatalf("a barrier opened for one at another: %v", err)
	}
	if open, err := answered(b.Arrive("a", "done")); !open || err != nil {
		t.Errorf("both are at done: %v, %v", open, err)
	}
	if open, err := answered(done); !open || err != nil {
		t.Errorf("both are at done: %v, %v", open, err)
	}
}

func TestABarrierEndsWithAPeer(t *testing.T) {
	b := NewBarriers([]string{"a", "b", "c"})
	waits := b.Arrive("a", "started")
	b.End("b", "ended with status 3")
	for name, answer := range map[string]<-chan error{"one that waited": waits, "one that came later": b.Arrive("c", "started")} {
		open, err := answered(answer)
		if !open || err == nil || !strings.Contains(err.Error(), "node b, whose script ended with status 3") || !strings.Contains(err.Error(), `"started"`) {
			t.Errorf("%s: open %v, %v", name, open, err)
		}
	}
}

func TestWhoHasPassedMayEnd(t *testing.T) {
	b := NewBarriers([]string{"a", "b"})
	first := b.Arrive("a", "")
	b.Arrive("b", "")
	b.End("b", "has ended")
	if open, err := answered(first); !open || err != nil {
		t.Errorf("b had been there: %v, %v", open, err)
	}
}

func TestABarrierCountsEachOnce(t *testing.T) {
	b := NewBarriers([]string{"a", "b"})
	first := b.Arrive("a", "")
	if open, err := answered(b.Arrive("a", "")); !open || err == nil {
		t.Errorf("a is listed twice: %v, %v", open, err)
	}
	if open, err := answered(b.Arrive("x", "")); !open || err == nil {
		t.Errorf("x has no script: %v, %v", open, err)
	}
	// Who gave up waiting is not there.
	b.Leave("a", "", first)
	second := b.Arrive("b", "")
	if open, err := answered(second); open {
		t.Errorf("it opened for one that had left: %v", err)
	}
	b.Leave("b", "", first) // another's answer
	if open, err := answered(b.Arrive("a", "")); !open || err != nil {
		t.Errorf("both are there: %v, %v", open, err)
	}
}

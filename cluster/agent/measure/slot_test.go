package measure

import (
	"context"
	"testing"
)

func TestOnlyOneHasTheSlot(t *testing.T) {
	s := NewSlot()
	if !s.TryTake() || s.TryTake() {
		t.Fatal("it was given twice, or not at all")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := s.Take(ended); err == nil {
		t.Fatal("it was given while another had it")
	}
	got := make(chan error, 1)
	go func() { got <- s.Take(context.Background()) }()
	s.Give()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if s.TryTake() {
		t.Error("who waited does not have it")
	}
}

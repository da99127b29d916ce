package power

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// slow is a node whose actions end when they are let.
type slow struct {
	let chan error
	// unread is why nothing is known of it.
	unread error
	mu     sync.Mutex
	done   []Action
}

func (s *slow) State(string) (State, error) { return State{On: true}, nil }

func (s *slow) Do(ctx context.Context, _ string, action Action, _ string) error {
	s.mu.Lock()
	s.done = append(s.done, action)
	s.mu.Unlock()
	select {
	case err := <-s.let:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) Can(_ string, action Action) (bool, error) { return action != Diag, s.unread }

func newSlow(t *testing.T) (*Controller, *slow, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	s := &slow{let: make(chan error)}
	c := NewController(t.Context(), s, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})
	c.patience = time.Millisecond
	return c, s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

// A client is not kept waiting; meanwhile another is told that the node is busy, and one that asks for
// the same is answered with it.
func TestActionsGoOnWithoutTheirClient(t *testing.T) {
	c, s, lines := newSlow(t)
	if err := c.Do("dut", Off, "a test"); err != nil {
		t.Fatal(err)
	}
	if state, _ := c.State("dut"); !state.Changing {
		t.Error("the node is not told as changing")
	}
	if err := c.Do("dut", Reset, "another"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second action: %v", err)
	}
	if err := c.Do("dut", Off, "another"); err != nil {
		t.Errorf("the same action: %v", err)
	}
	if err := c.Do("load", Off, "another"); err != nil {
		t.Errorf("another node: %v", err)
	}
	s.let <- nil
	s.let <- errors.New("it broke")
	c.Wait()
	if len(s.done) != 2 {
		t.Errorf("did %v", s.done)
	}
	said := strings.Join(lines(), "\n")
	if !strings.Contains(said, "power off, asked for by a test") || !strings.Contains(said, "failed: it broke") {
		t.Errorf("said %s", said)
	}
	if state, _ := c.State("dut"); state.Changing {
		t.Error("the node is told as changing still")
	}
}

func TestAQuickFailureIsAnswered(t *testing.T) {
	c, s, _ := newSlow(t)
	c.patience = time.Minute
	broke := errors.New("it broke")
	go func() { s.let <- broke }()
	if err := c.Do("dut", Off, "a test"); !errors.Is(err, broke) {
		t.Errorf("answered %v", err)
	}
	if err := c.Do("dut", Diag, "a test"); !errors.Is(err, ErrRefused) {
		t.Errorf("what cannot be: %v", err)
	}
	s.unread = broke
	if err := c.Do("dut", Diag, "a test"); !errors.Is(err, broke) || errors.Is(err, ErrRefused) {
		t.Errorf("of what nothing is known: %v", err)
	}
}

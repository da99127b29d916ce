package measure

import "context"

// Slot is the right to measure a node. Its own agent has it, or that of another node, never both at once,
// because they would measure each other. It is safe for concurrent use.
type Slot struct{ taken chan struct{} }

// NewSlot returns a free slot.
func NewSlot() *Slot { return &Slot{make(chan struct{}, 1)} }

// Take waits until the slot is free, and takes it. It fails only if ctx ends.
func (s *Slot) Take(ctx context.Context) error {
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryTake takes the slot if it is free.
func (s *Slot) TryTake() bool {
	select {
	case s.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// Give releases the slot.
func (s *Slot) Give() { <-s.taken }

package script

import (
	"fmt"
	"slices"
	"strings"
)

// Barriers are the barriers of one phase: points that all participants must reach before any of them
// goes on. It is a state machine without a lock or a clock.
type Barriers struct {
	participants []string
	// ended says how participants ended, by name.
	ended map[string]string
	// waiting are those at a barrier, by its tag and then their name. Each channel has room for its
	// one answer.
	waiting map[string]map[string]chan error
}

// NewBarriers makes the barriers of a phase in which these nodes run scripts.
func NewBarriers(participants []string) *Barriers {
	return &Barriers{participants: participants, ended: map[string]string{}, waiting: map[string]map[string]chan error{}}
}

// Arrive brings a participant to the barrier with a tag; the channel receives nil when all are
// there, or why they never will be. A barrier can be used again.
func (b *Barriers) Arrive(who, tag string) <-chan error {
	answer := make(chan error, 1)
	if !slices.Contains(b.participants, who) {
		answer <- fmt.Errorf("node %s has no script in this phase, so it cannot take part in a barrier", who)
		return answer
	}
	at := b.waiting[tag]
	if at == nil {
		at = map[string]chan error{}
		b.waiting[tag] = at
	}
	if at[who] != nil {
		answer <- fmt.Errorf("node %s is at %s already", who, barrier(tag))
		return answer
	}
	at[who] = answer
	b.settle(tag)
	return answer
}

// Leave takes a participant away from a barrier that it gave up waiting at.
func (b *Barriers) Leave(who, tag string, answer <-chan error) {
	if waits := b.waiting[tag][who]; waits != nil && (<-chan error)(waits) == answer {
		delete(b.waiting[tag], who)
	}
}

// End says that a participant's script has ended: barriers that it has not reached end at once, with
// its name.
func (b *Barriers) End(who, how string) {
	b.ended[who] = how
	for _, at := range b.waiting {
		delete(at, who) // what it left in the background is no participant
	}
	for tag := range b.waiting {
		b.settle(tag)
	}
}

// settle answers those at a barrier, where the answer is known.
func (b *Barriers) settle(tag string) {
	at := b.waiting[tag]
	var missing []string
	for _, p := range b.participants {
		how, ended := b.ended[p]
		if at[p] == nil && ended {
			missing = append(missing, fmt.Sprintf("node %s, whose script %s", p, how))
		}
	}
	if len(missing) == 0 && len(at) < len(b.participants) {
		return
	}
	var answer error
	if len(missing) > 0 {
		answer = fmt.Errorf("%s was not reached by %s", barrier(tag), strings.Join(missing, "; "))
	}
	for _, waits := range at {
		waits <- answer
	}
	delete(b.waiting, tag)
}

func barrier(tag string) string {
	if tag == "" {
		return "the barrier"
	}
	return fmt.Sprintf("the barrier %q", tag)
}

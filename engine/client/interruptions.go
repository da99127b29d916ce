package client

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// InterruptionsRoom is how long a list is asked for a time: a thread on a busy host is interrupted up to 12,000 times
// a second. An engine makes the lists of its trials as long.
func InterruptionsRoom(lasts time.Duration) int {
	return min(max((int(lasts/time.Second)+1)<<14, 1<<16), 1<<20)
}

// Interruptions is a thread's list: all turns of its loop from the threshold of their kind on.
type Interruptions struct {
	Count uint64 `json:"count"`
	// Overflow is how many more there were, for which there was no room.
	Overflow uint64 `json:"overflow"`
	// Kinds are the kinds of turns that the loop made.
	Kinds []TurnKind `json:"kinds"`
	// List comes as bulk data.
	List []Interruption `json:"-"`
}

// TurnKind are the turns of a loop with about as many packets.
type TurnKind struct {
	Kind int    `json:"kind"`
	Name string `json:"name"` // "turn 2-3 sent"
	// UsualNs is what a turn takes that nothing interrupts. One of ThresholdNs or more is listed, and of the others
	// Unlisted took longer than twice as usual, by UnlistedNs together, and did not make up for an interruption before them. ThresholdNs is nil before any turn.
	UsualNs     int64  `json:"usual_ns"`
	ThresholdNs *int64 `json:"threshold_ns"`
	Unlisted    uint64 `json:"unlisted"`
	UnlistedNs  int64  `json:"unlisted_ns"`
	// UnlistedLengths are the lengths of these.
	UnlistedLengths []UnlistedLength `json:"unlisted_lengths"`
	// SpentNs is the time of all turns that are not listed.
	SpentNs int64 `json:"spent_ns"`
}

// UnlistedLength are turns that took longer than usual, each by less than EachBelowNs, and TotalNs together.
type UnlistedLength struct {
	EachBelowNs int64 `json:"each_below_ns"`
	TotalNs     int64 `json:"total_ns"`
}

// Interruption is a turn that was interrupted.
type Interruption struct {
	BeginNs, LengthNs int64
	Kind              int // as in TurnKind
}

// Interrupted is a serving thread's list. The begin of its interruptions counts from BeginNs of CLOCK_MONOTONIC, when it
// began to list them.
type Interrupted struct {
	CPU           int           `json:"cpu"`
	TID           int           `json:"tid"`
	BeginNs       int64         `json:"begin_ns"`
	Interruptions Interruptions `json:"interruptions"`
}

// ListInterruptions has the threads of a switch, or of a role that serves, list their interruptions from now on, up to
// room each.
func (c *Client) ListInterruptions(room int) error {
	return c.call("interruptions", map[string]int{"room": room}, nil, nil)
}

// AskInterruptions asks a trial that has begun for what its thread has listed so far, which Trial hands to
// Events.Interruptions.
func (c *Client) AskInterruptions() error { return c.send("interruptions", nil) }

// interruptedOf reads the answer to AskInterruptions.
func interruptedOf(line []byte) ([]Interrupted, error) {
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Errno string `json:"errno"`
		listsAnswer
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, fmt.Errorf("interruptions: the engine's answer has another form: %w", err)
	}
	if !answer.OK {
		return nil, &Error{Command: "interruptions", Problem: answer.Error, Errno: answer.Errno}
	}
	return answer.lists()
}

// listsAnswer is the engine's answer with the lists of its threads.
type listsAnswer struct {
	Threads []Interrupted `json:"threads"`
	Bulk    []byte        `json:"bulk"`
}

// Interruptions reads the lists of all threads, which go on.
func (c *Client) Interruptions() ([]Interrupted, error) {
	var answer listsAnswer
	if err := c.call("interruptions", nil, &answer, nil); err != nil {
		return nil, err
	}
	return answer.lists()
}

func (answer listsAnswer) lists() ([]Interrupted, error) {
	u := bulkReader{rest: answer.Bulk, had: map[[2]uint32]bool{}}
	for i := range answer.Threads {
		u.lists = append(u.lists, &answer.Threads[i].Interruptions)
	}
	if err := errors.Join(u.read(), u.listsAgree()); err != nil {
		return nil, fmt.Errorf("interruptions: the engine's bulk data: %w", err)
	}
	return answer.Threads, nil
}

// interruptions reads a list: of each, how long after the previous one it began, its length and its kind.
func interruptions(content []byte) ([]Interruption, error) {
	var list []Interruption
	var begin int64
	for len(content) > 0 {
		var numbers [3]int64
		for i := range numbers {
			n, bytes := binary.Varint(content)
			if bytes <= 0 {
				return nil, errors.New("an interruption is cut off")
			}
			numbers[i], content = n, content[bytes:]
		}
		begin += numbers[0]
		list = append(list, Interruption{BeginNs: begin, LengthNs: numbers[1], Kind: int(numbers[2])})
	}
	return list, nil
}

// listsAgree checks that lists are complete, and cuts those that have grown since they were counted.
func (u *bulkReader) listsAgree() error {
	for i, l := range u.lists {
		if uint64(len(l.List)) < l.Count {
			return fmt.Errorf("%d of %d interruptions of thread %d", len(l.List), l.Count, i)
		}
		l.List = l.List[:l.Count]
	}
	return nil
}

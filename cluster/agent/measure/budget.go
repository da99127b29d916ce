package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"nines.dev/nines/kernel/replace"
)

// Budget is how much measuring may take of a node in any 24 hours.
type Budget struct {
	CPU     time.Duration
	Packets int64
}

// day is the time that a budget is for.
const day = 24 * time.Hour

// expense is what a trial took.
type expense struct {
	At      time.Time     `json:"at"`
	CPU     time.Duration `json:"cpu_ns"`
	Packets int64         `json:"packets"`
}

// Account is what was taken of a budget. The zero value has taken nothing, and forgets with the agent; it is
// not safe for concurrent use.
type Account struct {
	// file keeps it for the next agent; empty for none.
	file     string
	expenses []expense
}

// OpenAccount goes on with the account that an agent before this one has kept in a file.
func OpenAccount(file string) (Account, error) {
	a := Account{file: file}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a.expenses)
	}
	if err != nil {
		return a, fmt.Errorf("read what was taken of the day's budget: %w", err)
	}
	return a, nil
}

// keep writes the account. A trial takes place all the same where that fails: it counts as long as this agent
// runs.
func (a *Account) keep() {
	if a.file == "" {
		return
	}
	if err := replace.JSON(a.file, a.expenses, 0o600); err != nil {
		slog.Warn("keep what was taken of the day's budget", "error", err)
	}
}

// Take takes a trial's cost at a time, or says why the budget has not as much left.
func (a *Account) Take(now time.Time, b Budget, t Tier, l Load) error {
	return a.spend(b, t.Name(), expense{now, l.CPU(t), l.Packets()})
}

// TakeRoundTrip takes what each of the two ends of a round trip pays: the one sends the packets, the
// other sends them back, each by one thread and without baselines.
func (a *Account) TakeRoundTrip(now time.Time, b Budget, peer string, l Load) error {
	length := l.RoundTrip()
	return a.spend(b, "the way to "+peer, expense{now, length, int64(float64(l.RatePPS) * length.Seconds())})
}

func (a *Account) spend(b Budget, what string, next expense) error {
	a.forget(next.At)
	sum := next
	for _, e := range a.expenses {
		sum.CPU += e.CPU
		sum.Packets += e.Packets
	}
	switch {
	case sum.CPU > b.CPU:
		return fmt.Errorf("the budget of %s of CPU a day is spent; the next trial of %s takes %s", b.CPU, what, next.CPU)
	case sum.Packets > b.Packets:
		return fmt.Errorf("the budget of %d packets a day is spent; the next trial of %s takes %d", b.Packets, what, next.Packets)
	}
	a.expenses = append(a.expenses, next)
	a.keep()
	return nil
}

// GiveBack gives back what was taken last: the trial did not take place.
func (a *Account) GiveBack() {
	a.expenses = a.expenses[:len(a.expenses)-1]
	a.keep()
}

// Spent is what was taken in the 24 hours before a time.
func (a *Account) Spent(now time.Time) Budget {
	a.forget(now)
	var spent Budget
	for _, e := range a.expenses {
		spent.CPU += e.CPU
		spent.Packets += e.Packets
	}
	return spent
}

// forget drops what is older than a day. A clock that was set back leaves expenses of the future:
// they count until the clock has passed them, so the budget is never exceeded.
func (a *Account) forget(now time.Time) {
	old := 0
	for old < len(a.expenses) && now.Sub(a.expenses[old].At) >= day {
		old++
	}
	a.expenses = a.expenses[old:]
}

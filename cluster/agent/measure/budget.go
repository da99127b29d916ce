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

// Budget is how much measuring may use of a node in any 24 hours.
type Budget struct {
	CPU     time.Duration
	Packets int64
}

// day is the period of a budget.
const day = 24 * time.Hour

// expense is what a trial used.
type expense struct {
	At      time.Time     `json:"at"`
	CPU     time.Duration `json:"cpu_ns"`
	Packets int64         `json:"packets"`
}

// Account is what was spent of a budget. The zero value has spent nothing, and is not saved to a file. It is
// not safe for concurrent use.
type Account struct {
	// file saves it for the next agent; empty for none.
	file     string
	expenses []expense
}

// OpenAccount continues the account that a previous agent has saved in a file.
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
		return a, fmt.Errorf("read the spent budget: %w", err)
	}
	return a, nil
}

// keep saves the account. If that fails, the trial still takes place: its cost counts while this agent runs.
func (a *Account) keep() {
	if a.file == "" {
		return
	}
	if err := replace.JSON(a.file, a.expenses, 0o600); err != nil {
		slog.Warn("cannot save the spent budget", "error", err)
	}
}

// Take charges the most that a trial can cost at a time, or returns why the budget does not suffice.
func (a *Account) Take(now time.Time, b Budget, t Tier, l Load) error {
	return a.spend(b, t.Name(), expense{now, l.CPU(t), l.Packets()})
}

// TakeRoundTrip charges the most that one end of a round trip can cost: one end sends the packets, the other sends them
// back, each with one thread and without baselines.
func (a *Account) TakeRoundTrip(now time.Time, b Budget, peer string, l Load) error {
	length := l.RoundTrip()
	return a.spend(b, "the path to "+peer, expense{now, length, int64(float64(l.RatePPS) * length.Seconds())})
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
		return fmt.Errorf("the daily budget of %s of CPU time is spent; the next trial of %s takes %s", b.CPU, what, next.CPU)
	case sum.Packets > b.Packets:
		return fmt.Errorf("the daily budget of %d packets is spent; the next trial of %s takes %d", b.Packets, what, next.Packets)
	}
	a.expenses = append(a.expenses, next)
	a.keep()
	return nil
}

// Settle replaces the CPU time of the last charge, which was the most that a trial can use, by what it has used. So a trial
// begins only if the budget suffices for the most, and what is spent is what was used.
func (a *Account) Settle(used time.Duration) {
	if len(a.expenses) == 0 {
		return // it took longer than a day
	}
	a.expenses[len(a.expenses)-1].CPU = used
	a.keep()
}

// GiveBack refunds the last charge: the trial did not take place.
func (a *Account) GiveBack() {
	a.expenses = a.expenses[:len(a.expenses)-1]
	a.keep()
}

// Spent returns what was spent in the 24 hours before a time.
func (a *Account) Spent(now time.Time) Budget {
	a.forget(now)
	var spent Budget
	for _, e := range a.expenses {
		spent.CPU += e.CPU
		spent.Packets += e.Packets
	}
	return spent
}

// forget drops what is older than a day. After a clock was set back, some expenses are dated in the future:
// they count until the clock has passed them, so the budget is never exceeded.
func (a *Account) forget(now time.Time) {
	old := 0
	for old < len(a.expenses) && now.Sub(a.expenses[old].At) >= day {
		old++
	}
	a.expenses = a.expenses[old:]
}

package measure

import (
	"fmt"
	"time"
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
	at      time.Time
	cpu     time.Duration
	packets int64
}

// Account is what was taken of a budget. The zero value has taken nothing; it is not safe for
// concurrent use. It forgets with the agent: a node whose agent is started again and again does not
// measure more, as each start waits for the first interval.
type Account struct{ expenses []expense }

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
	a.forget(next.at)
	sum := next
	for _, e := range a.expenses {
		sum.cpu += e.cpu
		sum.packets += e.packets
	}
	switch {
	case sum.cpu > b.CPU:
		return fmt.Errorf("the budget of %s of CPU a day is spent; the next trial of %s takes %s", b.CPU, what, next.cpu)
	case sum.packets > b.Packets:
		return fmt.Errorf("the budget of %d packets a day is spent; the next trial of %s takes %d", b.Packets, what, next.packets)
	}
	a.expenses = append(a.expenses, next)
	return nil
}

// GiveBack gives back what was taken last: the trial did not take place.
func (a *Account) GiveBack() { a.expenses = a.expenses[:len(a.expenses)-1] }

// Spent is what was taken in the 24 hours before a time.
func (a *Account) Spent(now time.Time) Budget {
	a.forget(now)
	var spent Budget
	for _, e := range a.expenses {
		spent.CPU += e.cpu
		spent.Packets += e.packets
	}
	return spent
}

// forget drops what is older than a day. A clock that was set back leaves expenses of the future:
// they count until the clock has passed them, so the budget is never exceeded.
func (a *Account) forget(now time.Time) {
	old := 0
	for old < len(a.expenses) && now.Sub(a.expenses[old].at) >= day {
		old++
	}
	a.expenses = a.expenses[old:]
}

package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestABudgetHoldsInEveryDay(t *testing.T) {
	tiers, err := Tiers([]string{"veth", "memif"})
	if err != nil {
		t.Fatal(err)
	}
	budget := Budget{CPU: 200 * time.Second, Packets: 100_000}
	var a Account
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	var taken []time.Time
	for at := start; at.Before(start.Add(72 * time.Hour)); at = at.Add(10 * time.Minute) {
		if a.Take(at, budget, tiers[len(taken)%2], load) == nil {
			taken = append(taken, at)
		}
		if spent := a.Spent(at); spent.CPU > budget.CPU || spent.Packets > budget.Packets {
			t.Fatalf("at %s: %+v", at, spent)
		}
	}
	if len(taken) < 3*9-2 || len(taken) > 3*9+3 {
		t.Errorf("%d trials in three days of nine each", len(taken))
	}
}

// TestABudgetIsSettledByWhatTrialsUse, which may be less than the most that they are allowed to, or more.
func TestABudgetIsSettledByWhatTrialsUse(t *testing.T) {
	tiers, err := Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spent.json")
	most := load.CPU(tiers[0])
	budget := Budget{CPU: 10 * most, Packets: 1 << 40}
	for part, wanted := range map[int]int{5: 181, 100: 10, 200: 5} { // in percent of the most
		_ = os.Remove(file)
		now := time.Now()
		a, err := OpenAccount(file)
		if err != nil {
			t.Fatal(err)
		}
		used, trials := most*time.Duration(part)/100, 0
		for a.Take(now, budget, tiers[0], load) == nil {
			// The most counts until it is settled, also for the next agent.
			if next, err := OpenAccount(file); err != nil || next.Spent(now).CPU != time.Duration(trials)*used+most || next.Spent(now).CPU > budget.CPU {
				t.Fatalf("%d %%: before it is settled, %+v is spent, %v", part, next.Spent(now), err)
			}
			a.Settle(used)
			trials++
			now = now.Add(time.Second)
		}
		if next, err := OpenAccount(file); err != nil || next.Spent(now).CPU != time.Duration(trials)*used {
			t.Errorf("%d %%: %+v is spent by %d trials, %v", part, next.Spent(now), trials, err)
		}
		if trials != wanted {
			t.Errorf("%d %%: %d trials, not %d", part, trials, wanted)
		}
	}
	new(Account).Settle(time.Second) // of a charge that is older than a day
}

func TestASpentBudgetSaysOfWhat(t *testing.T) {
	tiers, err := Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for want, budget := range map[string]Budget{
		"of CPU":  {CPU: time.Second, Packets: 1 << 40},
		"packets": {CPU: time.Hour, Packets: 10},
	} {
		if err := new(Account).Take(now, budget, tiers[0], load); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not speak of %s", err, want)
		}
	}
}

func TestAClockThatIsSetBackGivesNoBudgetAnew(t *testing.T) {
	tiers, err := Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	budget := Budget{CPU: load.CPU(tiers[0]), Packets: 1 << 40}
	var a Account
	now := time.Now()
	if err := a.Take(now, budget, tiers[0], load); err != nil {
		t.Fatal(err)
	}
	if err := a.Take(now.Add(-48*time.Hour), budget, tiers[0], load); err == nil {
		t.Error("the budget was given twice")
	}
}

func TestARoundTripIsTakenOfTheSameBudget(t *testing.T) {
	budget := Budget{CPU: time.Hour, Packets: 3 * int64(load.RoundTrip().Seconds()*float64(load.RatePPS)) / 2}
	var a Account
	now := time.Now()
	if err := a.TakeRoundTrip(now, budget, "n2", load); err != nil {
		t.Fatal(err)
	}
	if err := a.TakeRoundTrip(now, budget, "n3", load); err == nil || !strings.Contains(err.Error(), "the path to n3") {
		t.Errorf("the budget was exceeded: %v", err)
	}
	if spent := a.Spent(now); spent.CPU != load.RoundTrip() {
		t.Errorf("%+v", spent)
	}
	a.GiveBack()
	if spent := a.Spent(now); spent != (Budget{}) {
		t.Errorf("%+v", spent)
	}
}

// TestABudgetIsNotGivenAnewToTheNextAgent: it is for a day, however often the agent is started.
func TestABudgetIsNotGivenAnewToTheNextAgent(t *testing.T) {
	tiers, err := Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spent.json")
	budget := Budget{CPU: 2 * load.CPU(tiers[0]), Packets: 1 << 40}
	now := time.Now()
	for taken := range 4 {
		a, err := OpenAccount(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Take(now, budget, tiers[0], load); (got == nil) != (taken < 2) {
			t.Errorf("agent %d takes a trial: %v", taken, got)
		}
		// What did not take place is not kept.
		if a.TakeRoundTrip(now, Budget{CPU: time.Hour, Packets: 1 << 40}, "n2", load) == nil {
			a.GiveBack()
		}
	}
	if a, err := OpenAccount(file); err != nil || a.Spent(now).CPU != budget.CPU {
		t.Errorf("%s of %s is taken, %v", a.Spent(now).CPU, budget.CPU, err)
	}
	if err := os.WriteFile(file, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := OpenAccount(file); err == nil || a.Take(now, budget, tiers[0], load) != nil {
		t.Errorf("of a file that cannot be read: %v", err)
	}
	if a, err := OpenAccount(file); err != nil || a.Spent(now).CPU != load.CPU(tiers[0]) {
		t.Errorf("written anew: %v", err)
	}
}

package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

func TestOffsetsAreRead(t *testing.T) {
	for text, want := range map[string]clock{
		"monotonic           0         0\nboottime            0         0\n":  {},
		"monotonic         500         0\nboottime         -100         0\n":  {ticks: -10_000},
		"monotonic           0         0\nboottime         5000 123456789\n":  {ticks: 500_012, part: 3456789},
		"monotonic           0         0\nboottime           -1 990000000\n":  {ticks: -1},
		"boottime            7 9999999\nmonotonic           0         0":      {ticks: 700, part: 9999999},
		"monotonic           0         0\nboottime   -2147483648         1\n": {ticks: -214_748_364_800, part: 1},
	} {
		if got, err := parseOffsets(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "monotonic 0 0\n", "boottime 0\n", "boottime x 0\n", "boottime 0 x\n"} {
		if got, err := parseOffsets(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// TestAStartIsTheSameThroughEachClock: the kernel adds nanoseconds, and rounds the sum to ticks.
func TestAStartIsTheSameThroughEachClock(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		started := time.Duration(random.Int64N(int64(1000 * time.Hour)))
		ahead := time.Duration(random.Int64N(int64(4000*time.Hour))) - started
		if random.IntN(2) == 0 {
			ahead = ahead.Truncate(time.Second)
		}
		seconds, rest := int64(ahead/time.Second), ahead%time.Second
		if rest < 0 {
			seconds, rest = seconds-1, rest+time.Second
		}
		c, err := parseOffsets(fmt.Sprintf("boottime %d %d", seconds, rest))
		if err != nil {
			t.Fatal(err)
		}
		shown, host := uint64((started+ahead)/tick), uint64(started/tick)
		if got := c.sinceBoot(shown); !c.isSame(got, host) || ahead%tick == 0 && got != host {
			t.Fatalf("started at %v, %v ahead: %d, want %d", started, ahead, got, host)
		}
	}
}

// observer has a process of these tests print what it sees of a process, whose Identity it is.
const observer = "NINES_PROC_OBSERVES"

// shifter has one put itself into a time namespace with these offsets before it observes: unshare(1) takes seconds only.
const shifter = "NINES_PROC_SHIFTS"

type sight struct {
	Seen  Identity
	Alive bool
}

func init() {
	text := os.Getenv(observer)
	if text == "" {
		return
	}
	if offsets := os.Getenv(shifter); offsets != "" {
		// This is the first thread. A child is in the new namespace, also where execve does not change over.
		err := errors.Join(os.Unsetenv(shifter), unix.Unshare(unix.CLONE_NEWTIME),
			os.WriteFile("/proc/self/timens_offsets", []byte(offsets), 0))
		if err == nil {
			err = unix.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("/proc/%d/exe; exit $?", os.Getppid())}, os.Environ())
		}
		panic(err)
	}
	var id Identity
	if err := json.Unmarshal([]byte(text), &id); err != nil {
		panic(err)
	}
	seen, err := Of(id.PID)
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(sight{seen, id.Alive()}); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// TestAnIdentityIsTheSameInEveryTimeNamespace: also where it is ahead by part of a tick, as CRIU leaves it.
func TestAnIdentityIsTheSameInEveryTimeNamespace(t *testing.T) {
	labtest.Root(t)
	var in unix.Stat_t
	labtest.Require(t, "time namespaces", unix.Stat("/proc/self/ns/time", &in) == nil)
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(self)
	if err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprintf("/proc/%d/exe", self.PID)
	for _, c := range []struct {
		call   []string
		shifts string
		exact  bool
	}{
		{[]string{me}, "", true},
		{[]string{"unshare", "--time", "--fork", "--boottime", "0", me}, "", true},
		{[]string{"unshare", "--time", "--fork", "--boottime", "-1", me}, "", true},
		{[]string{"unshare", "--time", "--fork", "--boottime", "1000000", me}, "", true},
		{[]string{"unshare", "--time", "--fork", "--monotonic", "77", me}, "", true},
		{[]string{me}, "boottime 5 120000000", true},
		{[]string{me}, "boottime 5 123456789", false},
	} {
		cmd := exec.Command(c.call[0], c.call[1:]...)
		cmd.Env = append(os.Environ(), observer+"="+string(text), shifter+"="+c.shifts)
		out, err := cmd.Output()
		var s sight
		if err == nil {
			err = json.Unmarshal(out, &s)
		}
		if err != nil {
			t.Errorf("%v %s: %v: %s", c.call, c.shifts, err, out)
			continue
		}
		if !s.Alive || c.exact && s.Seen != self {
			t.Errorf("%v %s: sees %+v, alive %v, want %+v", c.call, c.shifts, s.Seen, s.Alive, self)
		}
	}
}

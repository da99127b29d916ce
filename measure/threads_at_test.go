package measure

import (
	"maps"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/measure/trace"
)

func TestAThreadThatNeverSleepsPolls(t *testing.T) {
	start := time.Unix(0, 0)
	since := threadsAt{start, map[int]int64{1: 5, 2: 5, 3: 5, 4: 5}, map[int]threadTime{1: {ran: 9 * time.Second}, 2: {}, 3: {}, 4: {}}}
	now := threadsAt{start.Add(time.Second), map[int]int64{1: 5, 2: 6, 3: 5, 4: 5, 5: 0}, map[int]threadTime{
		1: {ran: 9*time.Second + 100*time.Millisecond}, 2: {ran: time.Second}, 3: {}, 4: {ran: 99 * time.Millisecond}, 5: {ran: time.Second},
	}}
	// The second has slept, the third slept all the time, the fourth ran too little, and the fifth is new.
	if got, want := now.polled(since), map[int]bool{1: true, 2: false, 3: false, 4: false, 5: false}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestThreadsOfAProcessAreCounted has a thread of its own that spins, and one that sleeps.
func TestThreadsOfAProcessAreCounted(t *testing.T) {
	var ended atomic.Bool
	defer ended.Store(true)
	tids := make(chan int)
	go func() {
		runtime.LockOSThread() // it ends with its thread
		tids <- unix.Gettid()
		for spun := 0; !ended.Load(); spun++ {
		}
	}()
	spins := <-tids
	go func() {
		runtime.LockOSThread()
		tids <- unix.Gettid()
		_ = unix.Nanosleep(&unix.Timespec{Sec: 60}, nil)
	}()
	sleeps := <-tids
	read := func() threadsAt { return threadsNow(map[string][]trace.Thread{"": trace.Threads(os.Getpid())}) }
	deadline := time.Now().Add(time.Minute)
	for {
		since := read()
		time.Sleep(50 * time.Millisecond)
		polled := read().polled(since)
		if polled[sleeps] {
			t.Fatal("a thread that sleeps polls")
		}
		if polled[spins] {
			return
		}
		if time.Now().After(deadline) { // a busy host may give it less than a tenth of a CPU
			t.Fatalf("a thread that spins does not poll: %v", polled)
		}
	}
}

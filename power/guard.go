package power

import (
	"fmt"
	"sync"
	"time"
)

// The limits of a Guard. What a source is, Source says.
const (
	// freeFailures are the wrong passwords after which a source has to wait.
	freeFailures = 3
	// firstPause is how long it waits then; each further wrong password doubles that, up to longestPause.
	firstPause   = time.Second
	longestPause = 16 * time.Second
	// forgetAfter is how long a source has to be quiet until its wrong passwords are forgotten.
	forgetAfter = 5 * time.Minute
	// mostSources is how many sources are kept apart. Those that come when this many are known share one
	// pause; a flood of made up addresses cannot push out one that has the password.
	mostSources = 1024
	// sayEvery is the time between two lines about wrong passwords, and sayRarely that after manyLines:
	// guesses must not fill the disk.
	sayEvery  = time.Second
	sayRarely = time.Minute
	manyLines = 100
)

// Guard slows down those who guess the password.
type Guard struct {
	mu      sync.Mutex
	sources map[string]*source
	// rest stands for the sources that have no place of their own.
	rest     source
	failures uint64
	said     time.Time
	lines    int
	say      func(string)
}

type source struct {
	failures int
	last     time.Time // of a wrong or a right password
	until    time.Time // when it may try again
}

// NewGuard returns one that says a line about wrong passwords, at most one a second.
func NewGuard(say func(string)) *Guard {
	return &Guard{sources: map[string]*source{}, say: say}
}

// Wait is how long a source has to wait until it may try a password; 0: it may.
func (g *Guard) Wait(from string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wait(from, now)
}

func (g *Guard) wait(from string, now time.Time) time.Duration {
	s := g.sources[from]
	if s == nil {
		if len(g.sources) < mostSources {
			return 0
		}
		s = &g.rest
	}
	return max(0, s.until.Sub(now))
}

// Begin counts an attempt before its answer lets the client know whether its password is right. If it is not 0, the
// source has to wait as long, and gets no answer. Succeeded forgets the attempt, and Wrong says that it was a guess.
func (g *Guard) Begin(from string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.wait(from, now); wait > 0 {
		return wait
	}
	g.count(from, now)
	return 0
}

// Try counts a password, where that is known at once to be right or wrong. If it is not 0, the source has to wait as
// long, and must not get to know. Several at the same time are one after the other.
func (g *Guard) Try(from string, now time.Time, right bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.wait(from, now); wait > 0 {
		return wait
	}
	if right {
		g.forget(from, now)
	} else {
		g.count(from, now)
		g.tell(from, now)
	}
	return 0
}

// Wrong tells that an attempt that has begun had a wrong password, or was left.
func (g *Guard) Wrong(from string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell(from, now)
}

func (g *Guard) count(from string, now time.Time) {
	s := g.place(from, now)
	if now.Sub(s.last) > forgetAfter {
		s.failures = 0
	}
	s.failures, s.last = s.failures+1, now
	if over := s.failures - freeFailures; over >= 0 {
		pause := longestPause
		if over < 10 {
			pause = min(longestPause, firstPause<<over)
		}
		s.until = now.Add(pause)
	}
}

func (g *Guard) tell(from string, now time.Time) {
	s := g.place(from, now)
	g.failures++
	pause := sayEvery
	if g.lines >= manyLines {
		pause = sayRarely
	}
	if now.Sub(g.said) >= pause {
		g.said, g.lines = now, g.lines+1
		g.say(fmt.Sprintf("wrong user or password from %s, attempt %s from there recently; %d in total", from, ordinal(s.failures), g.failures))
	}
}

// Succeeded forgets the wrong passwords of a source that has the right one.
func (g *Guard) Succeeded(from string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(from, now)
}

func (g *Guard) forget(from string, now time.Time) {
	s := g.place(from, now)
	if s == &g.rest {
		s.until = time.Time{}
		return
	}
	*s = source{last: now}
}

// Failures is how many wrong passwords there were.
func (g *Guard) Failures() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures
}

// place is where a source's passwords are counted.
func (g *Guard) place(from string, now time.Time) *source {
	if s := g.sources[from]; s != nil {
		return s
	}
	if len(g.sources) >= mostSources {
		for name, s := range g.sources {
			if now.Sub(s.last) > forgetAfter {
				delete(g.sources, name)
			}
		}
	}
	if len(g.sources) >= mostSources {
		return &g.rest
	}
	s := &source{last: now}
	g.sources[from] = s
	return s
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

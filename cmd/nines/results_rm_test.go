package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal: writing to keys types.
func openTerminal(t *testing.T) (keys, terminal *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return keys, terminal
}

func TestConfirmTakesOnlyYes(t *testing.T) {
	for typed, want := range map[string]error{
		"y\n": nil, "YES\n": nil, "n\n": errNothingRemoved, "\n": errNothingRemoved, "yesno\n": errNothingRemoved,
		"\x04": errNothingRemoved, // Ctrl-D, end of input
	} {
		keys, terminal := openTerminal(t)
		if _, err := keys.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		var words bytes.Buffer
		if err := confirm(t.Context(), terminal, &words, 2); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v; %s", typed, err, want, words.String())
		}
	}
}

// Without an answer, Ctrl-C ends the question.
func TestConfirmEndsAtCtrlC(t *testing.T) {
	_, terminal := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	var words questionAsked
	words.then = cancel
	if err := confirm(ctx, terminal, &words, 1); !errors.Is(err, errNothingRemoved) {
		t.Errorf("confirm = %v", err)
	}
}

// questionAsked calls then at the first write.
type questionAsked struct{ then func() }

func (q *questionAsked) Write(p []byte) (int, error) {
	q.then()
	return len(p), nil
}

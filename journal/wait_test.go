package journal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nines.dev/nines/kernel/await"
)

var errBusy = errors.New("process 7 (sleep) in it")

// kindBusy is busy for the time that a step has as its value, or for ever.
var kindBusy = Register("test busy", Undo{Step: func(ctx context.Context, u Undoing) error {
	lasts, err := time.ParseDuration(u.Value)
	begun := time.Now()
	return u.Await(ctx, await.Condition{What: "it is not busy", Every: 10 * time.Millisecond, Holds: func(context.Context) error {
		if err != nil || time.Since(begun) < lasts {
			return errBusy
		}
		return nil
	}})
}})

// TestAnUndoWaitsForAllBusyStepsTogether: for thirty of them as long as for one, and tells of the first. What is busy
// for a moment only is undone.
func TestAnUndoWaitsForAllBusyStepsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, err := Create(filepath.Join(t.TempDir(), "journal"), Header{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		for range 30 {
			if _, err := j.Begin(Step{Kind: kindBusy, Value: "for ever"}); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			if _, err := j.Begin(Step{Kind: kindBusy, Value: "20ms"}); err != nil {
				t.Fatal(err)
			}
		}
		var told []string
		begun := time.Now()
		err = j.Undo(WithProgress(t.Context(), func(text string) { told = append(told, text) }), nil, nil)
		if took := time.Since(begun); took != patience {
			t.Errorf("it took %v, want %v", took, patience)
		}
		if !errors.Is(err, errBusy) || strings.Count(err.Error(), "not within the 5s of the whole undo: process 7") != 30 || len(j.Entries()) != 30 {
			t.Errorf("%v; %d steps are left", err, len(j.Entries()))
		}
		if want := []string{"waiting until it is not busy: " + errBusy.Error()}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

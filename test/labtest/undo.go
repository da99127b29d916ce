package labtest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// undoErrors are numbers of errors that a step of undo may meet.
var undoErrors = []unix.Errno{unix.EMFILE, unix.ENOSPC, unix.EIO, unix.EINTR, unix.ENOMEM}

// Undone is something that a nines with fault points (Nines, "faultpoint") makes and undoes.
type Undone struct {
	Make func()
	// Undo undoes it, with more in its environment, and under another program where under has one with its
	// arguments. It returns its exit code, -1 for a signal, and what it said.
	Undo func(environment, under []string) (code int, said string)
	// Gone fails the test if anything is left.
	Gone func(what string)
	// Steps is how many steps its undo has at least, besides the end of its processes.
	Steps int
	// Processless is true if its undo has no process to end.
	Processless bool
	// Slow is true if it takes long to make: the long form makes it less often.
	Slow bool
}

// UndoErrors lets every step of an undo fail at once, and in the long form each alone, and then system calls
// of it (callErrors). Each time the same must hold: what exits with 0 has left nothing, and after any other
// exit the next undo, without errors, leaves nothing.
func UndoErrors(t testing.TB, u Undone) {
	t.Helper()
	var numbers []string
	for _, number := range undoErrors {
		numbers = append(numbers, strconv.Itoa(int(number)))
	}
	list := filepath.Join(t.TempDir(), "points")
	undo := func(what, point, errors, list string) (code int, said string) {
		return u.try(t, what, []string{"NINES_FAULT_AT=" + point, "NINES_FAULT_ERRORS=" + errors, "NINES_FAULT_LIST=" + list}, nil)
	}
	code, said := undo("undo without a step that worked", "all", strings.Join(numbers, ","), list)
	if code == 0 || strings.Count(said, "fault before undoing") < u.Steps || !u.Processless && !strings.Contains(said, "fault before ending processes") {
		t.Errorf("every step failed, and undo exited with %d: %s", code, said)
	}
	if Long() {
		for i := range strings.Count(read(t, list), "\n") + 4 { // and the removal of the folder, which was not reached
			undo(fmt.Sprintf("undo with an error at point %d", i+1), strconv.Itoa(i+1), numbers[i%len(numbers)], "")
		}
	}
	u.callErrors(t)
}

// try makes it and undoes it with errors, and if that fails again without.
func (u Undone) try(t testing.TB, what string, environment, under []string) (code int, said string) {
	t.Helper()
	u.Make()
	code, said = u.Undo(environment, under)
	if code == 0 {
		u.Gone(what + ", which said that all went well")
		return code, said
	}
	// What failed may have been the last of all, such as the removal of an empty folder: then nothing is left to undo.
	again, more := u.Undo(nil, nil)
	if again != 0 && !strings.Contains(more, "does not exist") && !strings.Contains(more, "there is no") {
		t.Errorf("%s exited with %d: %s; and again with %d: %s", what, code, said, again, more)
	}
	u.Gone(fmt.Sprintf("%s, which exited with %d: %s; and again", what, code, said))
	return code, said
}

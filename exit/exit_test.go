package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"testing"
)

func TestCode(t *testing.T) {
	child := exec.Command("sh", "-c", "exit 42").Run()
	if child == nil {
		t.Fatal("sh -c 'exit 42' did not fail")
	}
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"no error":                  {nil, Done},
		"no error with a code":      {With(Wrong, nil), Done},
		"any failure":               {errors.New("x"), Failed},
		"a wrong call":              {fmt.Errorf("call: %w", Wrongf("no node %q", "a")), Wrong},
		"a host that lacks":         {fmt.Errorf("up: %w", Lacksf("no QEMU")), Lacks},
		"the first code counts":     {errors.Join(errors.New("x"), Lacksf("y"), Wrongf("z")), Lacks},
		"the outer code counts":     {With(42, Wrongf("z")), 42},
		"a program that nines runs": {fmt.Errorf("node a: exec: %w", child), Failed},
	} {
		if got := Code(test.err); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

func TestAnErrorWithACodeIsTheSame(t *testing.T) {
	err := Wrongf("open it: %w", fs.ErrNotExist)
	if err.Error() != "open it: file does not exist" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

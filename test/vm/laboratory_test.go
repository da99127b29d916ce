package vm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/vm/boots"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestimage"
)

// required skips what make test-vm has not asked for, and wants what it needs.
func required(t *testing.T) (repository string, store guestimage.Store) {
	t.Helper()
	labtest.Laboratory(t)
	labtest.Require(t, "root", os.Geteuid() == 0)
	for _, program := range []string{vm.Program, "mmdebstrap"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program+" (make setup-vm)", err == nil)
	}
	repository = labtest.Repository()
	return repository, guestimage.Store{
		Dir: guestimage.DefaultDir(), Guest: filepath.Join(repository, "bin", "nines-guest"), Progress: say,
	}
}

// say tells what goes on, for people: the longest step takes a minute.
func say(what string) { fmt.Fprintf(os.Stderr, "vm: %s\n", what) }

func TestLaboratory(t *testing.T) {
	repository, store := required(t)
	chosen := regexp.MustCompile(os.Getenv("NINES_VM_RUN"))
	table := &rowTable{path: filepath.Join(repository, "build", "vm", "table.txt")}
	machines := make(chan struct{}, atOnce)
	wanted := boots.Chosen()
	ready := boots.Images(t.Context(), store, wanted)
	packages := findPackages(t, repository)
	all := &results{}
	t.Cleanup(func() { all.write(t, filepath.Join(repository, "build", "vm", "passed"), packages) })
	for _, boot := range wanted {
		tests := map[string][]string{}
		for _, p := range packages {
			for _, name := range p.boots[boot.Name] {
				if chosen.MatchString(name) {
					tests[p.path] = append(tests[p.path], name)
				}
			}
		}
		if len(tests) == 0 {
			continue
		}
		t.Run(boot.Name, func(t *testing.T) {
			t.Parallel()
			if err := ready[boot.Name](); err != nil {
				t.Fatal(err)
			}
			machines <- struct{}{}
			t.Cleanup(func() { <-machines }) // when the machine has stopped
			s := &session{repository: repository, store: store, boot: boot}
			// After each boot, so that a run that is cut off shows what it had.
			defer func() {
				table.add(t, boot.Name, s.rows, s.notes)
				all.add(boot.Name, s.rows)
			}()
			t.Cleanup(func() {
				if s.lab != nil {
					if err := s.lab.Stop(); err != nil {
						t.Error(err)
					}
				}
			})
			s.start(t)
			for _, p := range packages {
				if len(tests[p.path]) > 0 {
					t.Run(p.path, func(t *testing.T) {
						s.run(t, p, tests[p.path])
					})
				}
			}
			s.runAgain(t)
		})
	}
}

// atOnce is how many laboratories run at a time.
const atOnce = 2

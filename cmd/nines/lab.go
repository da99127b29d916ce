package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// labFile is an experiment file with the options of the verbs that make labs.
type labFile struct {
	path string
	sets []string
	run  int
	// running is as in planCall.
	running func(name string) (*plan.Plan, error)
}

func (l *labFile) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&l.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().IntVar(&l.run, "run", 1, "which run of the sweep to build for, from 1")
}

// planned is an experiment file and its plan for this host.
type planned struct {
	*plan.Plan
	text     []byte // the file after --set
	findings []host.Finding
	scripts  spec.ScriptTexts
}

func (l *labFile) plan() (planned, error) {
	file, err := loadFile(l.path, l.sets)
	if err != nil {
		return planned{}, err
	}
	p, findings, err := planCall{file: l.path, run: l.run, running: l.running}.planOf(file)
	if err != nil {
		return planned{}, err
	}
	text, err := file.Effective()
	if err != nil {
		return planned{}, err
	}
	scripts, err := l.scripts(file)
	return planned{p, text, findings, scripts}, err
}

// scripts are the texts of the run's scripts. A lab runs the host's; it is made for one run.
func (l *labFile) scripts(file *spec.File) (spec.ScriptTexts, error) {
	runs, err := file.Runs()
	if err != nil {
		return nil, err
	}
	return file.ScriptTexts(runs[l.run-1 : l.run])
}

// oneFile is the Args of a verb that takes one experiment file.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Wrongf("name one experiment file, such as examples/quickstart.yaml; got %d", len(args))
	}
	return nil
}

// atMostOneLab is the Args of a verb that takes a lab, or uses the only one.
func atMostOneLab(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Wrongf("name one lab, or its file; got %d", len(args))
	}
	if len(args) == 1 {
		return new(labValue).Set(args[0])
	}
	return nil
}

// labFlag gives a verb the flag --lab, for labByFlag.
func labFlag(c *cobra.Command, named *string) {
	c.Flags().Var((*labValue)(named), "lab", "the lab, by name or file (default: the only one)")
}

// oneLab is the lab that an argument or --lab names; both may not differ.
func oneLab(args []string, named string) (string, error) {
	said := strings.Join(args, "")
	if said != "" && named != "" && said != named {
		return "", exit.Wrongf("the argument names lab %q, and --lab %q; name it once", said, named)
	}
	return cmp.Or(said, named), nil
}

// labValue is a named lab. An empty text, as of a variable that is not set, names none: it must not stand
// for the only one that is up.
type labValue string

// Set, String and Type make it a pflag.Value.
func (v *labValue) Set(said string) error {
	if said == "" {
		return exit.Wrongf("the lab's name is empty; name a lab, or omit the name if only one is up")
	}
	*v = labValue(said)
	return nil
}

func (v *labValue) String() string { return string(*v) }

// Type is shown in the help text.
func (v *labValue) Type() string { return "string" }

// labName finds a lab by its name or its experiment file; an empty text means the only lab that is
// up.
func labName(said string) (string, error) {
	if said != "" {
		return nameOrFile(said)
	}
	labs, err := lab.List()
	if err != nil {
		return "", err
	}
	switch len(labs) {
	case 0:
		return "", exit.Wrongf("no lab is up; nines up FILE makes one")
	case 1:
		return labs[0].Name, nil
	}
	names := ""
	for _, running := range labs {
		names += " " + running.Name
	}
	return "", exit.With(exit.Wrong, &severalLabsError{strings.TrimSpace(names)})
}

// severalLabsError means that the call does not say which of several labs to use.
type severalLabsError struct{ names string }

func (e *severalLabsError) Error() string { return "several labs are up; name one: " + e.names }

// labByFlag is openLab for verbs with the flag --lab.
func labByFlag(said string) (*lab.Lab, error) {
	running, err := openLab(said)
	if several := new(severalLabsError); errors.As(err, &several) {
		err = exit.Wrongf("several labs are up: choose one with --lab NAME: %s", several.names)
	}
	return running, err
}

// nameOrFile tries a lab's name first, because a lab and a file may have the same name.
func nameOrFile(said string) (string, error) {
	if _, err := lab.Open(said); err == nil {
		return said, nil
	}
	info, err := os.Stat(said)
	if err != nil || info.IsDir() {
		return said, nil
	}
	f, err := spec.LoadFile(said)
	if err != nil {
		return "", err
	}
	runs, err := f.Runs()
	if err != nil {
		return "", err
	}
	return runs[0].Experiment.Name, nil
}

// openLab opens the lab that labName finds.
func openLab(said string) (*lab.Lab, error) {
	name, err := labName(said)
	if err != nil {
		return nil, err
	}
	return lab.Open(name)
}

// progressTo returns a function that writes slow steps to w, a line each. A step may quote what runs
// in a node.
func progressTo(w io.Writer) func(string) {
	var mu sync.Mutex
	return func(what string) {
		mu.Lock()
		defer mu.Unlock()
		terminal.Printf(w, "%s …\n", what)
	}
}

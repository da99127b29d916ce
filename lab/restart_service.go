package lab

import (
	"context"
	"errors"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/terminal"
)

// RestartService ends a service of a node and starts it again, or starts it if it has ended. It needs the lab's lock.
func (l *Lab) RestartService(ctx context.Context, nodeName, name string, options RestartOptions) error {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	j, free, err := l.lockNodes()
	if err != nil {
		return err
	}
	return errors.Join(state.Explain(l.restartService(ctx, j, nodeName, name, options)), free())
}

func (l *Lab) restartService(ctx context.Context, j *journal.Journal, nodeName, name string, options RestartOptions) error {
	n, _, err := l.Node(nodeName)
	if err != nil {
		return err
	}
	if err := CheckService(n, name); err != nil {
		return err
	}
	if !l.Alive(nodeName) {
		return exit.Wrongf("node %q does not run; 'nines start %s' starts it, with its services", nodeName, nodeName)
	}
	programs, err := findPrograms(l.Plan())
	if err != nil {
		return err
	}
	is := func(one string) bool { return one == nodeName+":"+name }
	if !options.Kill {
		service.Stop(ctx, j, is)
	}
	if err := j.Undo(ctx, options.Progress, func(e journal.Entry) bool { return is(service.Of(e)) }); err != nil {
		return err
	}
	if err := (service.Maker{Lab: l.Lab, Journal: j, Nines: programs.nines, Progress: options.Progress}).Start(ctx, n); err != nil {
		return err
	}
	_, err = l.TakeRedirects() // the lab is not measured
	return err
}

// CheckService refuses a service that a node does not have.
func CheckService(n plan.Node, name string) error {
	names := serviceNames(n)
	if slices.Contains(names, name) {
		return nil
	}
	return exit.Wrongf("node %q has no service %q; %s", n.Name, name, strings.TrimPrefix(terminal.DidYouMean(name, names)+" "+ServicesOf(n), " "))
}

// ServicesOf names a node's services.
func ServicesOf(n plan.Node) string {
	if len(n.Services) == 0 {
		return "it has none"
	}
	return "its services: " + strings.Join(serviceNames(n), ", ")
}

func serviceNames(n plan.Node) []string {
	var names []string
	for _, s := range n.Services {
		names = append(names, s.Name)
	}
	return names
}

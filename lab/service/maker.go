package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Maker starts and stops the services of a lab.
type Maker struct {
	*running.Lab
	Journal *journal.Journal
	// Nines is the program nines.
	Nines string
	// Progress receives what Start waits for.
	Progress func(string)
}

// Start starts those services of a node that do not run, one after the other, each when the one before is ready.
func (m Maker) Start(ctx context.Context, n plan.Node) error {
	for _, s := range n.Services {
		is := func(e journal.Entry) bool { return Of(e) == n.Name+":"+s.Name }
		if process.OfStep(m.Journal, is).Alive() {
			continue
		}
		if err := m.Journal.Undo(ctx, m.Progress, is); err != nil {
			return err
		}
		if err := m.start(ctx, n, s); err != nil {
			return fmt.Errorf("service %s of node %q: %w", s.Name, n.Name, err)
		}
	}
	return nil
}

func (m Maker) start(ctx context.Context, n plan.Node, s spec.Service) error {
	if err := replace.Remove(record(m.State(), n.Name, s.Name)); err != nil {
		return err
	}
	log, err := keeperLog(m.Lab, n.Name, s.Name)
	if err != nil {
		return err
	}
	defer log.Close()
	token := m.Journal.Token("service/" + n.Name + "/" + s.Name)
	var keeper proc.Identity
	err = process.Make(m.Journal, journal.Step{Node: n.Name, Name: mark + s.Name, Token: token}, func() (id proc.Identity, err error) {
		keeper, err = node.Spawn(exec.Command(m.Nines, "keep", m.Name(), n.Name, s.Name), token, log)
		return keeper, err
	})
	if err != nil {
		return err
	}
	return m.await(ctx, n, s, keeper, log.Name())
}

// keeperLog is the file with a keeper's own errors.
func keeperLog(l *running.Lab, nodeName, name string) (*os.File, error) {
	folder := filepath.Join(l.State().Services(), nodeName)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(folder, name+".keeper.log"))
}

// await returns when a service is ready.
func (m Maker) await(ctx context.Context, n plan.Node, s spec.Service, keeper proc.Identity, log string) error {
	return await.Until(ctx, await.Condition{What: "it is ready", Every: 5 * time.Millisecond, UpTo: readyEvery, Holds: func(context.Context) error {
		alive := keeper.Alive()
		r, err := replace.ReadIfThere[Record](record(m.State(), n.Name, s.Name))
		switch {
		case err != nil:
			return await.Never(err)
		case r.Status == Ready:
			return nil
		case r.Status == Ended:
			return await.Never(errors.New("it has ended" + r.Why() + r.refusal(n)))
		case !alive:
			return await.Never(fmt.Errorf("its keeper has ended: %s", node.LastLines(log)))
		}
		return fmt.Errorf("it is %s", r.Status)
	}})
}

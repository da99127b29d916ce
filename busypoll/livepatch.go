package busypoll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/spec"
)

// How the module polls an instance is a setting of its device, livepatch/INDEX: 0, or as
// kbp.Choice says.
const livepatchKind = "livepatch"

func livepatchSetting(index int) napi.Setting {
	return napi.Setting(fmt.Sprintf("%s/%d", livepatchKind, index))
}

func init() {
	napi.Register(livepatchKind, napi.Kind{
		Read: func(device, text string) (string, error) {
			index, err := instanceIndex(text)
			if err != nil {
				return "", err
			}
			return kbp.Polling(device, index)
		},
		Write: func(device, text, value string) error {
			index, err := instanceIndex(text)
			if err != nil {
				return err
			}
			return kbp.SetPolling(device, index, value)
		},
	})
}

func instanceIndex(text string) (int, error) {
	index, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("NAPI instance %q does not exist", text)
	}
	return index, nil
}

// probeLivepatch reports whether the kernel can use the module of busypoll/kmod/kbp.
func probeLivepatch() Lack {
	reason, remedy := kbp.Lack()
	if remedy != "" {
		reason += " (" + remedy + ")"
	}
	return Lack(reason)
}

// pollByLivepatch lets the module's threads poll the devices, one thread on each CPU;
// instances go to the CPUs in turn. It loads the module if needed. The threads end when
// nothing is left to poll, so only the polling is journalled.
func (s Site) pollByLivepatch(ctx context.Context, r Request, run *Running, devices []device) error {
	if err := s.loadLivepatch(ctx, run); err != nil {
		return err
	}
	if r.Scheduling == nil {
		r.Scheduling = &spec.Scheduling{Policy: spec.SchedulingIdle}
	}
	run.Scheduling = schedulingText(r.Scheduling)
	var longest time.Duration
	if r.Adaptive {
		longest = r.Longest
		if longest == 0 {
			longest = defaultLongest
		}
	}
	groups := make([]uint32, len(r.CPUs))
	for i := range groups {
		groups[i] = kbp.NewGroup()
	}
	dealt := 0
	for i, d := range devices {
		instances, err := s.livepatchInstances(d)
		if err != nil {
			return err
		}
		for _, instance := range instances {
			choice := kbp.Choice{Group: groups[dealt%len(groups)], Longest: longest}
			if instance.Kind != "tx" { // those have next to nothing to do
				dealt++
			}
			if err := s.set(run, i, d, livepatchSetting(instance.Index), choice.String()); err != nil {
				return err
			}
		}
	}
	return s.placeLivepatch(r, run, devices, groups)
}

// KindModule is the kernel module kbp, loaded for the user Token, with the file of its
// users, Path: the release by the last user unloads it.
var KindModule = journal.Register("module", journal.Undo{Step: func(ctx context.Context, u journal.Undoing) error {
	return kbp.Release(ctx, u.Path, u.Token, u.Note)
}, Lost: "the kernel's live patch for busy polling"})

// loadLivepatch keeps the module in the kernel until the journal is undone.
func (s Site) loadLivepatch(ctx context.Context, run *Running) error {
	if s.DryRun {
		if state, err := kbp.Now(); err != nil || state != kbp.Loaded {
			run.step("load the module %s", kbp.Name)
			return err
		}
		return nil
	}
	step := journal.Step{Kind: KindModule, Node: s.Node, Name: kbp.Name, Path: kbp.UsersFile, Token: s.Journal.Token("module/" + s.Name)}
	return s.Journal.Make(step, func() (journal.Learnt, error) {
		return journal.Learnt{}, kbp.Acquire(ctx, step.Path, step.Token)
	})
}

// defaultLongest is the default of nines-poller and of spec.Polling.
const defaultLongest = 50 * time.Microsecond

func (s Site) livepatchInstances(d device) (list []kbp.Instance, err error) {
	err = s.Namespace.Do(func() error {
		all, err := kbp.List()
		if s.DryRun && errors.Is(err, fs.ErrNotExist) {
			return nil // not loaded yet
		}
		for _, instance := range all {
			if instance.IfIndex == d.index {
				list = append(list, instance)
			}
		}
		return err
	})
	if err == nil && len(list) == 0 && !s.DryRun {
		err = fmt.Errorf("interface %q has no NAPI instance: its driver does not use NAPI, or it is down", d.name)
	}
	return list, err
}

// placeLivepatch puts each thread on its CPU, and records what it polls.
func (s Site) placeLivepatch(r Request, run *Running, devices []device, groups []uint32) error {
	if s.DryRun {
		return nil
	}
	cpus := map[uint32]int{}
	for i, group := range groups {
		cpus[group] = r.CPUs[i]
	}
	for i, d := range devices {
		instances, err := s.livepatchInstances(d)
		if err != nil {
			return err
		}
		for _, instance := range instances {
			cpu, ours := cpus[instance.Group]
			if !ours {
				continue
			}
			placement, err := napi.ParsePlacement(fmt.Sprintf("%s@%d", run.Scheduling, cpu))
			if err == nil {
				err = placement.Place(instance.Thread)
			}
			if err != nil {
				return err
			}
			if instance.NAPI == 0 { // an instance that sends has no ID
				continue
			}
			run.Interfaces[i].NAPIs = append(run.Interfaces[i].NAPIs, napi.Instance{
				ID: instance.NAPI, Index: instance.IfIndex, PID: instance.Thread, Threaded: napi.BusyThread,
			})
		}
	}
	return nil
}

package busypoll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
)

// tsoFeatures are the names of NETIF_F_ALL_TSO of include/linux/netdev_features.h. While
// any of them is active on a veth, its sends bypass the other end's NAPI, except local UDP
// (veth_skb_is_eligible_for_gro in drivers/net/veth.c).
var tsoFeatures = []string{
	"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
	"tx-tcp-accecn-segmentation", // Linux 6.18
}

// deferral keeps the interrupts of polled devices off between two polls. After a poll that
// found nothing, the driver's interrupt stays masked for this many further polls, until a
// timer fires that each poll restarts (napi_complete_done and busy_poll_stop in
// net/core/dev.c; Linux 5.11). The timer also receives the packets if the poller does not
// get the CPU.
//
// The time is longer than the scheduler's tick. So the timer is never the next to fire, and
// restarting it does not program the clock event device. On a virtual machine that would
// trap into the hypervisor with each poll: measured here, a round trip took 17 instead of 5
// µs.
const (
	deferredPolls = 2
	deferredTime  = 10 * time.Millisecond
)

// set changes one setting of a device and notes it; a setting that the kernel lacks is an
// error.
func (s Site) set(run *Running, i int, d device, setting napi.Setting, value string) error {
	changed, err := s.change(run, s.Namespace, d.name, setting, value)
	if err != nil {
		return fmt.Errorf("interface %q: %w", d.name, err)
	}
	if changed {
		run.Interfaces[i].Changed[string(setting)] = value
	}
	return nil
}

// change makes a setting through the journal, and reports it as a step.
func (s Site) change(run *Running, ns *netns.Namespace, device string, setting napi.Setting, value string) (changed bool, err error) {
	if s.DryRun {
		err = ns.Do(func() error {
			now, err := setting.Read(device)
			changed = err == nil && now != value
			return err
		})
	} else {
		changed, err = s.makeSetting(ns, device, setting, value)
	}
	if changed {
		run.step("%s: %s = %s", device, setting, value)
	}
	return changed, err
}

// useNAPI makes a veth use NAPI: GRO on at its receiving end, and TSO off at the other, so
// that large TCP packets are split before they cross. Other devices always use NAPI.
func (s Site) useNAPI(run *Running, devices []device) error {
	for i, d := range devices {
		if d.kind != "veth" {
			continue
		}
		if err := s.set(run, i, d, napi.Feature("rx-gro"), "1"); err != nil {
			return err
		}
		for _, name := range tsoFeatures {
			changed, err := s.change(run, d.peer.ns, d.peer.name, napi.Feature(name), "0")
			if errors.Is(err, ethtool.ErrNoFeature) {
				continue
			}
			if err != nil {
				return fmt.Errorf("interface %q, its peer %q: %w", d.name, d.peer.name, err)
			}
			if changed {
				run.Interfaces[i].Changed["peer feature/"+name] = "0"
			}
		}
		run.note("%s and its peer %s: TCP between them uses MTU-sized packets while polled (no TSO), which slows bulk transfers", d.name, d.peer.name)
	}
	return nil
}

// flushTimeout is the time after which a device's interrupts are on again.
var flushTimeout = napi.Attribute("gro_flush_timeout")

// nameDevices returns the poller's options that name the devices: an adaptive one counts
// their packets. Each has its timeout as it is before anything changes it; the poller's
// watchdog restores it while it leaves receiving to interrupts.
func (s Site) nameDevices(devices []device) (options []string, err error) {
	for _, d := range devices {
		var now string
		if err := s.Namespace.Do(func() (err error) { now, err = flushTimeout.Read(d.name); return err }); err != nil {
			return nil, err
		}
		options = append(options, "--device", d.name+":"+now)
	}
	return options, nil
}

// keepInterruptsOff defers the interrupts of polled devices.
func (s Site) keepInterruptsOff(run *Running, devices []device) error {
	number := napi.Attribute("napi_defer_hard_irqs")
	for i, d := range devices {
		// The timeout first: without it the number has no effect.
		if err := s.set(run, i, d, flushTimeout, strconv.FormatInt(int64(deferredTime), 10)); err != nil {
			return err
		}
		if err := s.set(run, i, d, number, strconv.Itoa(deferredPolls)); err != nil {
			return err
		}
	}
	return nil
}

// list reads the instances of the devices; each device must have at least one.
func (s Site) list(run *Running) error {
	return s.Namespace.Do(func() error {
		for i := range run.Interfaces {
			instances, err := napi.List(run.Interfaces[i].Index)
			if err != nil {
				return err
			}
			if len(instances) == 0 && !s.DryRun {
				return fmt.Errorf("interface %q has no NAPI instance: its driver does not use NAPI, or it is down", run.Interfaces[i].Name)
			}
			run.Interfaces[i].NAPIs = instances
		}
		return nil
	})
}

// threaded gives the devices threads in place of softirqs, and places them.
func (s Site) threaded(ctx context.Context, r Request, run *Running, devices []device) error {
	if lack := s.Features.Threaded; !lack.None() {
		return lack.Missing("threaded NAPI", "use a kernel of 5.12 or later")
	}
	run.Mechanism, run.Why = "threaded", "rx: threaded"
	run.noteThrottling(r)
	if err := s.useNAPI(run, devices); err != nil {
		return err
	}
	if err := s.makeThreads(r, run, devices); err != nil {
		return err
	}
	return s.guard(ctx, r, run)
}

// makeThreads turns threads on and places them.
func (s Site) makeThreads(r Request, run *Running, devices []device) error {
	for i, d := range devices {
		var before map[int]string
		err := s.Namespace.Do(func() (err error) { before, err = napi.Threads(d.name); return err })
		if err != nil {
			return err
		}
		if err := s.set(run, i, d, napi.Attribute("threaded"), "1"); err != nil {
			return err
		}
		if err := s.placeThreads(r, run, i, d, before); err != nil {
			return err
		}
	}
	return nil
}

// placeThreads places a device's threads.
func (s Site) placeThreads(r Request, run *Running, i int, d device, before map[int]string) error {
	if s.DryRun {
		run.step("place the threads of %s on CPUs %s", d.name, cpuList(r.CPUs))
		return nil
	}
	if r.Scheduling == nil && len(r.CPUs) == 0 {
		// They stay as the kernel made them, and need not be found: it does not tell a namespace of process
		// IDs those of its threads.
		if err := s.list(run); !errors.Is(err, napi.ErrNoFamily) && !errors.Is(err, napi.ErrNoNAPIGet) {
			return err
		}
		return nil
	}
	threads, err := s.threadsOf(&run.Interfaces[i], before)
	if err != nil {
		return err
	}
	for _, tid := range threads {
		if err := s.place(r, run, i, d, tid); err != nil {
			return err
		}
	}
	return nil
}

// threadsOf finds a device's threads: from the kernel, or on kernels that do not report
// them the threads with its name that did not exist before.
func (s Site) threadsOf(run *Interface, before map[int]string) (tids []int, err error) {
	err = s.Namespace.Do(func() error {
		instances, err := napi.List(run.Index)
		if err == nil {
			run.NAPIs = instances
			for _, i := range instances {
				if i.PID > 0 {
					tids = append(tids, i.PID)
				}
			}
			return nil
		}
		if !errors.Is(err, napi.ErrNoFamily) && !errors.Is(err, napi.ErrNoNAPIGet) {
			return err
		}
		after, err := napi.Threads(run.Name)
		for tid := range after {
			if _, old := before[tid]; !old {
				tids = append(tids, tid)
			}
		}
		return err
	})
	slices.Sort(tids)
	if err == nil && len(tids) == 0 {
		err = fmt.Errorf("interface %q is threaded, but its threads were not found", run.Name)
	}
	return tids, err
}

func (s Site) place(r Request, run *Running, i int, d device, tid int) error {
	now, err := napi.PlacementOf(tid)
	if err != nil {
		return err
	}
	if r.Scheduling != nil {
		cpus := now.CPUs
		if now, err = napi.ParsePlacement(schedulingText(r.Scheduling)); err != nil {
			return err
		}
		now.CPUs = cpus
	}
	if len(r.CPUs) > 0 {
		now.CPUs = slices.Sorted(slices.Values(r.CPUs))
	}
	return s.set(run, i, d, napi.ThreadPlacement(tid), now.String())
}

// suspend lets applications that poll by epoll suspend the devices' interrupts.
func (s Site) suspend(run *Running, devices []device) error {
	if lack := first(s.Features.NAPIGet, s.Features.Suspend); !lack.None() {
		return lack.Missing("suspending interrupts", "use a kernel of 6.13 or later, or rx: busy_poll or awake")
	}
	run.Mechanism, run.Why = string(spec.ReceiveSuspend), "rx: suspend"
	if err := s.useNAPI(run, devices); err != nil {
		return err
	}
	for i, d := range devices {
		for _, a := range []struct{ name, value string }{{"gro_flush_timeout", suspendFlush}, {"napi_defer_hard_irqs", suspendDefer}} {
			if err := s.set(run, i, d, napi.Attribute(a.name), a.value); err != nil {
				return err
			}
		}
	}
	if err := s.list(run); err != nil {
		return err
	}
	for i, d := range devices {
		for _, instance := range run.Interfaces[i].NAPIs {
			if err := s.set(run, i, d, napi.IRQSuspendOf(instance.ID), suspendTime); err != nil {
				return err
			}
		}
	}
	run.note("interrupts stay off only while an application polls by epoll with prefer_busy_poll (EPIOCSPARAMS); others see packets up to 20 µs later")
	return s.list(run)
}

// The values that the authors of IRQ suspension measured with
// (Documentation/networking/napi.rst, "IRQ suspension"; kernel commit 6f0cdf2c4d3f and its
// cover letter): the suspension time is a safety net, and the timer decides the wait at low
// load.
const (
	suspendDefer = "100"
	suspendFlush = "20000"
	suspendTime  = "20000000"
)

func (run *Running) step(format string, args ...any) {
	run.Steps = append(run.Steps, fmt.Sprintf(format, args...))
}

func (run *Running) note(format string, args ...any) {
	run.Notes = append(run.Notes, fmt.Sprintf(format, args...))
}

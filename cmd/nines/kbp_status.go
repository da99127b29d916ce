package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newKbpStatusCommand() *cobra.Command {
	var format string
	var over time.Duration
	c := &cobra.Command{
		Use:   "status [NAME]...",
		Short: "Show how containers receive: polls, packets, CPU use, watchdog",
		Long: `Show how the containers of nines kbp start receive now: what polls them, how often, how
many packets arrive through polling and how many still through softirqs, how much CPU
time polling takes, and how often the watchdog stopped it. nines watches each container
for a moment (--over).

A BPF program at the kernel's tracepoint napi_poll counts the polls during that time.
Without the privilege to load it, polls are not shown. --features shows what the kernel
offers.`,
		Example: `  nines kbp status
  nines kbp status web --over 5s
  nines kbp status --format json | jq '.sessions[].polls_per_second'
  nines kbp status --features`,
	}
	var features bool
	c.RunE = func(c *cobra.Command, args []string) error {
		if over <= 0 || over > time.Hour {
			return exit.Wrongf("--over %v: write a time of up to an hour, such as 500ms", over)
		}
		if features {
			return writeKbpFeatures(c.OutOrStdout(), format, busypoll.Probe())
		}
		list, err := kbpStatus(c.Context(), args, over)
		if err != nil {
			return err
		}
		if format == "json" {
			return command.WriteJSON(c.OutOrStdout(), map[string]any{"sessions": list})
		}
		return writeKbpStatus(c.OutOrStdout(), list)
	}
	command.FormatFlag(c, &format)
	c.Flags().DurationVar(&over, "over", 500*time.Millisecond, "how long to watch each")
	c.Flags().BoolVar(&features, "features", false, "show which mechanisms the running kernel offers")
	return c
}

func kbpStatus(ctx context.Context, names []string, over time.Duration) ([]*busypoll.Status, error) {
	sessions := make([]busypoll.Session, len(names))
	for i, name := range names {
		if err := busypoll.CheckName(name); err != nil {
			return nil, exit.With(exit.Wrong, err)
		}
		sessions[i] = busypoll.Session{Root: state.Root(), Name: name}
	}
	if len(names) == 0 {
		var err error
		if sessions, err = busypoll.Sessions(state.Root()); err != nil {
			return nil, err
		}
	}
	list := []*busypoll.Status{}
	for _, s := range sessions {
		status, err := s.Status(ctx, over)
		if errors.Is(err, busypoll.ErrNoSession) {
			if len(names) == 0 {
				continue // stopped since it was listed
			}
			return nil, exit.With(exit.Wrong, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, status)
	}
	return list, nil
}

func writeKbpFeatures(out io.Writer, format string, f busypoll.Features) error {
	if format == "json" {
		return command.WriteJSON(out, f)
	}
	t := &terminal.Table{}
	for _, row := range []struct {
		name string
		lack busypoll.Lack
	}{
		{"netlink", f.Netlink}, {"livepatch", f.Livepatch}, {"io_uring", f.IOUring}, {"epoll", f.Epoll},
		{"threaded", f.Threaded}, {"suspend", f.Suspend}, {"napi_get", f.NAPIGet},
	} {
		has := "yes"
		switch {
		case row.lack.Untold():
			has = string(row.lack)
		case !row.lack.None():
			has = "no: " + string(row.lack)
		}
		t.Row(row.name, has)
	}
	if mechanism, why, err := busypoll.Choose(f, ""); err == nil {
		t.Row("busy_poll", fmt.Sprintf("by %s: %s", mechanism, why))
	} else {
		t.Row("busy_poll", err)
	}
	return t.Write(out, terminal.Style{})
}

func writeKbpStatus(out io.Writer, list []*busypoll.Status) error {
	if len(list) == 0 {
		_, err := terminal.Printf(out, "all containers receive by interrupts; nines kbp start changes that\n")
		return err
	}
	t := &terminal.Table{}
	t.Row("SESSION", "TARGET", "RX", "MECHANISM", "STATE", "THREAD", "POLICY@CPU", "DOES", "CPU USE", "POLLS/S", "PACKETS/S", "WAITED", "BACK-OFFS")
	for _, s := range list {
		head := []any{s.Name, s.Target, "", "", s.State}
		if s.Running != nil {
			head[2], head[3] = s.Running.Receive, s.Running.Mechanism
		}
		if len(s.Threads) == 0 {
			t.Row(head...)
		}
		for _, thread := range s.Threads {
			who := "-"
			if thread.Name != "" {
				who = fmt.Sprintf("%s %d", thread.Name, thread.TID)
			}
			t.Row(append(head, who, thread.Placement, thread.State, fmt.Sprintf("%.0f %%", 100*thread.CPUUse), rateText(thread.PollsPerSecond),
				rateText(thread.PacketsPerSecond), fmt.Sprintf("%.1f %%", 100*thread.WaitedShare), thread.BackOffs)...)
			head = []any{"", "", "", "", ""}
		}
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	for _, s := range list {
		if err := writeKbpRemarks(out, s); err != nil {
			return err
		}
	}
	return nil
}

// writeKbpRemarks writes what the table does not show.
func writeKbpRemarks(out io.Writer, s *busypoll.Status) error {
	var lines []string
	switch s.State {
	case busypoll.StateDead:
		lines = append(lines, "its poller has died, so packets wait for a timer: nines kbp stop "+s.Name+" restores interrupts")
	case busypoll.StateGone:
		lines = append(lines, "its network namespace is gone: nines kbp stop "+s.Name+" removes the rest")
	case busypoll.StateInterrupted:
		lines = append(lines, "its start was interrupted: nines kbp stop "+s.Name+" undoes it")
	case busypoll.StateStale:
		lines = append(lines, s.Stale+": nines kbp stop "+s.Name+", then start it again")
	case busypoll.StateRebooted:
		lines = append(lines, "the host has rebooted since: nines kbp stop "+s.Name+" removes the rest")
	case busypoll.StateRunning:
	}
	for _, thread := range s.Threads {
		if thread.HeldUp() {
			lines = append(lines, fmt.Sprintf("thread %d, with a real-time policy, did not get its CPU for %.1f %% of %v, because of threads of higher priority or real-time throttling (sysctl kernel.sched_rt_runtime_us): --policy idle or other, on its own CPU, avoids this",
				thread.TID, 100*thread.WaitedShare, s.Over.Round(time.Millisecond)))
		}
	}
	if s.SoftirqShare != nil {
		lines = append(lines, fmt.Sprintf("%.1f %% of its packets came by softirqs in %v", 100**s.SoftirqShare, s.Over.Round(time.Millisecond)))
	}
	if s.Uncounted != "" {
		lines = append(lines, s.Uncounted)
	}
	for _, line := range lines {
		if _, err := terminal.Printf(out, "%s: %s\n", s.Name, line); err != nil {
			return err
		}
	}
	return nil
}

func rateText(rate *float64) string {
	if rate == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *rate)
}

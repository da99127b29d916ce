package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// tuneApplyCall holds the options of nines tune apply.
type tuneApplyCall struct {
	tuneCall
	write  bool
	root   string
	dryRun bool
	format string
}

func newTuneApplyCommand() *cobra.Command {
	var call tuneApplyCall
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make the settings of the plan",
		Long: `Make the settings that 'nines tune plan' shows, at once. nines writes the old values
down first, so 'nines tune revert' restores exactly those, also after a crash. If the
kernel refuses a setting, nines reports it and leaves it as it is. A reboot also undoes
settings.

--write also writes the boot parameters to the boot loader's files; they take effect
after a reboot. nines supports GRUB (a file of its own in /etc/default/grub.d, or
GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub) and systemd-boot
(/etc/kernel/cmdline and the entries). It keeps the original files, and revert restores
them. --root tries this on a copy of the files and changes no setting.

Only one process can tune a host at a time. A second apply, or a lab with the key
tuning, fails and names the one that holds the host.`,
		Example: `  nines tune apply --cpus 2-3
  nines tune apply --for lab.yaml
  nines tune apply --cpus 2-3 --profile realtime --write
  nines tune apply --cpus 2-3 --write --root /tmp/copy   # with etc/default/grub in it
  nines tune apply --cpus 2-3 --dry-run`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return call.apply(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	call.flags(c)
	c.Flags().BoolVar(&call.write, "write", false, "also write the boot parameters to the boot loader's files")
	c.Flags().StringVar(&call.root, "root", "", "with --write: use this copy of the boot loader's files, and change no setting")
	c.Flags().BoolVar(&call.dryRun, "dry-run", false, "show what would be set, and set nothing")
	command.FormatFlag(c, &call.format)
	return c
}

// applied is the JSON output.
type applied struct {
	Applied *tune.Applied    `json:"applied,omitempty"`
	Boot    *tune.BootRecord `json:"boot,omitempty"`
}

func (t *tuneApplyCall) apply(ctx context.Context, out, progress io.Writer) error {
	if t.root != "" && !t.write {
		return exit.Wrongf("--root is for --write: settings are the running kernel's")
	}
	inv, request, err := t.request()
	if err != nil {
		return err
	}
	p := tune.MakePlan(inv, request, tune.Live)
	if t.dryRun {
		return writeTuneSteps(out, p, t.write)
	}
	var done applied
	if t.root == "" {
		if err := needRoot("changing settings"); err != nil {
			return err
		}
		session, err := tuneSession()
		if err != nil {
			return err
		}
		if done.Applied, err = session.Apply(ctx, p, whoAmI()); err != nil {
			return err
		}
	}
	if t.write {
		tree := tune.BootTree{Root: "/"}
		if t.root != "" {
			if tree.Root, err = filepath.Abs(t.root); err != nil {
				return err
			}
		}
		terminal.Printf(progress, "writing boot parameters …\n")
		if done.Boot, err = tree.Write(ctx, p.Boot, whoAmI()); err != nil {
			if done.Applied != nil {
				err = fmt.Errorf("%w; the settings are in force, nines tune revert restores them", err)
			}
			return err
		}
	}
	if t.format == "json" {
		return command.WriteJSON(out, done)
	}
	return writeApplied(out, done, t.root)
}

// writeTuneSteps lists what apply would do.
func writeTuneSteps(out io.Writer, p tune.Plan, write bool) error {
	var lines []string
	for _, row := range p.Settings {
		switch {
		case row.Absent != "" || row.InForce:
		case row.Method == tune.Hold:
			lines = append(lines, fmt.Sprintf("hold %s open with %s", row.Path, row.Value))
		default:
			lines = append(lines, fmt.Sprintf("write %s to %s (now %s)", row.Value, row.Path, row.Now))
		}
	}
	if write {
		lines = append(lines, "add to the kernel's command line: "+p.BootLine)
	}
	return writeLines(out, lines)
}

func writeApplied(out io.Writer, done applied, root string) error {
	var b strings.Builder
	if a := done.Applied; a != nil {
		count := map[tune.Outcome]int{}
		for _, r := range a.Results {
			count[r.Outcome]++
			switch r.Outcome {
			case tune.Changed:
				terminal.Printf(&b, "  %s: %s → %s\n", r.Path, orNotHeld(r.Old), orWanted(r))
			case tune.Refused:
				terminal.Printf(&b, "  %s: the kernel refuses %s: %s\n", r.Path, r.Value, r.Reason)
			}
		}
		terminal.Printf(&b, "Profile %s: %d settings changed, %d in force before, %d refused, %d not on this host. nines tune revert restores them.\n",
			a.Profile, count[tune.Changed], count[tune.Already], count[tune.Refused], count[tune.Absent])
	}
	if r := done.Boot; r != nil {
		for _, f := range r.Files {
			terminal.Printf(&b, "  %s\n", filepath.Join("/", root, f.Path))
		}
		terminal.Printf(&b, "Boot parameters written for %s: %s\n", r.Loader, r.Line)
		switch {
		case root != "" && len(r.Regenerate) > 0:
			terminal.Printf(&b, "%s was not run, because this is a copy.\n", strings.Join(r.Regenerate, " "))
		case root == "":
			terminal.Printf(&b, "They take effect at the next boot. nines tune revert removes them.\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func orNotHeld(text string) string {
	if text == "" {
		return "not held"
	}
	return text
}

// orWanted returns the value that the kernel reports now, or the wanted one.
func orWanted(r tune.Result) string {
	if r.Now != "" {
		return r.Now
	}
	return r.Value
}

package tune

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/terminal"
)

// Standing is the current state of a setting that was changed.
type Standing string

// The standings.
const (
	// InForce settings hold what was set.
	InForce Standing = "in force"
	// ChangedSince settings hold something else, which others have set. Revert leaves
	// them unchanged.
	ChangedSince Standing = "changed since"
	// Back settings hold their old value: others have restored them.
	Back Standing = "back"
	// Covered settings were set again on top, by a lab or nines tune apply, which By
	// names and which will undo its own value.
	Covered Standing = "covered"
	// Lost settings were held by a process that has ended, or their file is gone.
	Lost Standing = "lost"
)

// ChangedSetting is one setting that the session has changed.
type ChangedSetting struct {
	Path string `json:"path"`
	// Set is what was written, Old what was there before, Now what is there now.
	Set      string   `json:"set"`
	Old      string   `json:"old,omitempty"`
	Now      string   `json:"now,omitempty"`
	Standing Standing `json:"standing"`
	By       string   `json:"by,omitempty"`
}

// Status is what nines tune has in force on this host.
type Status struct {
	// Applied is nil if nothing is in force.
	Applied *Applied `json:"applied"`
	// CutOff is true if an apply was killed: revert undoes what it had made.
	CutOff   bool             `json:"cut_off,omitempty"`
	Settings []ChangedSetting `json:"settings"`
	// Lab is the lab that holds the host's settings through its key tuning:.
	Lab string `json:"lab,omitempty"`
	// Boot are the boot parameters that were written; nil if none were.
	Boot *BootStatus `json:"boot,omitempty"`
}

// Status reads what is in force; it needs no lock and changes nothing.
func (s Session) Status() (Status, error) {
	var status Status
	if err := readHolder(s.Root, &status); err != nil {
		return status, err
	}
	j, err := journal.Read(s.journal())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, journal.ErrEmpty):
		return status, nil
	case err != nil:
		return status, err
	case !j.SinceBoot():
		return status, nil // the reboot reset the settings
	}
	applied, err := readApplied(s.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status, err
	}
	status.Applied = applied
	status.CutOff = applied == nil || !applied.Done
	status.Settings = Standings(j, "")
	return status, nil
}

// readHolder names the lab that holds the host's settings.
func readHolder(root string, status *Status) error {
	holder, err := Holder(root)
	if lab, ok := strings.CutPrefix(holder, "labs/"); ok {
		status.Lab = lab
	}
	return err
}

// Standings are the current states of a journal's settings, of the steps with a mark.
func Standings(j *journal.Journal, mark string) []ChangedSetting {
	list := []ChangedSetting{}
	for _, e := range j.Entries() {
		switch {
		case e.Name != mark:
		case e.Kind == setting.Kind:
			list = append(list, standing(e))
		case e.Kind == process.Kind && e.Path != "" && e.Learnt != nil:
			c := ChangedSetting{Path: e.Path, Set: e.Value, Standing: Lost}
			if process.Of(e).Alive() {
				c.Standing = InForce
			}
			list = append(list, c)
		}
	}
	return list
}

func standing(e journal.Entry) ChangedSetting {
	c := ChangedSetting{Path: e.Path, Set: e.Value, Old: e.Old}
	if e.Learnt != nil && e.Learnt.Took != "" {
		c.Set = e.Learnt.Took
	}
	now, err := setting.Read(e.Path)
	c.Now, c.By = now, setting.Covering(e)
	switch {
	case err != nil:
		c.Standing = Lost
	case c.By != "" && !setting.Same(e.Path, now, c.Set):
		c.Standing = Covered
	case setting.Same(e.Path, now, c.Set):
		c.Standing = InForce
	case setting.Same(e.Path, now, e.Old):
		c.Standing = Back
	default:
		c.Standing = ChangedSince
	}
	return c
}

// Write prints the status for people.
func (s Status) Write(out io.Writer) error {
	var b strings.Builder
	switch {
	case s.Lab != "":
		terminal.Printf(&b, "Lab %q holds this host's settings (its key tuning:); nines inspect %s shows them.\n", s.Lab, s.Lab)
	case s.CutOff:
		terminal.Printf(&b, "A nines tune apply was interrupted; nines tune revert restores what it changed.\n")
	case s.Applied == nil:
		terminal.Printf(&b, "nines tune has changed no setting of this host.\n")
	default:
		a := s.Applied
		terminal.Printf(&b, "Profile %s (%s)", a.Profile, a.Source)
		if len(a.CPUs) > 0 {
			terminal.Printf(&b, " for CPUs %s", cpulist.Format(a.CPUs))
		}
		terminal.Printf(&b, ", applied by %s at %s\n", a.User, a.Since.Format("2006-01-02 15:04:05 UTC"))
	}
	for _, c := range s.Settings {
		terminal.Printf(&b, "  %s: %s, was %s", c.Path, c.Set, orNothing(c.Old))
		switch c.Standing {
		case InForce:
			terminal.Printf(&b, "; in force\n")
		case Covered:
			terminal.Printf(&b, "; %s by %s meanwhile\n", c.Now, c.By)
		case Back:
			terminal.Printf(&b, "; another program has restored it since\n")
		case ChangedSince:
			terminal.Printf(&b, "; another program has set it to %s since, and revert leaves it\n", c.Now)
		default:
			terminal.Printf(&b, "; lost: the process that held it has ended, or the file is gone\n")
		}
	}
	if s.Applied != nil {
		for _, r := range s.Applied.Results {
			if r.Outcome == Refused {
				terminal.Printf(&b, "  %s: refused by the kernel: %s\n", r.Path, r.Reason)
			}
		}
	}
	if s.Boot != nil {
		s.Boot.write(&b)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func orNothing(text string) string {
	if text == "" {
		return "not held"
	}
	return text
}

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host/tune"
)

// write is the remedy that writes a value to a file. The remedy by which nines does it and
// undoes it comes first.
func (j *judge) write(text, path, value string) []Remedy {
	command := fmt.Sprintf("echo %s > %s", value, path)
	if name, ok := strings.CutPrefix(path, "/proc/sys/"); ok {
		command = fmt.Sprintf("sysctl -w %s=%s", strings.ReplaceAll(name, "/", "."), value)
	}
	return append(j.tuned(path), Remedy{Text: text, Commands: []string{command}})
}

// isolated are the remedies for what package isolate moves away: by an experiment, or by
// nines tune.
func (j *judge) isolated(does string) []Remedy {
	return []Remedy{
		{Text: "let an experiment " + does + " them while it runs, and restore them: isolation: isolated in its file, or --set isolation=isolated"},
		{Text: "let nines do it until nines tune revert, with the rest of the profile latency", Commands: []string{"nines tune apply --profile latency --cpus " + j.target()}},
	}
}

// boot is the remedy by kernel parameters. nines tune plan prints the whole line;
// parameters that its profile does not set must be asked for.
func (j *judge) boot(text string, parameters ...string) Remedy {
	command := j.tunePlan()
	for _, parameter := range parameters {
		if !j.planned(parameter) {
			command += " --boot " + parameter
		}
	}
	return Remedy{
		Text:     text + " (kernel parameters: " + strings.Join(parameters, " ") + ")" + j.fromOutside(),
		Commands: []string{command},
		Reboot:   true,
	}
}

// planned is true if nines tune plan sets a parameter by default.
func (j *judge) planned(parameter string) bool {
	profile, _ := tune.BuiltIn(tune.Latency)
	return slices.ContainsFunc(tune.BootParameters(j.inv, j.scope.own(), profile, tune.Use{}), func(p tune.Parameter) bool {
		return p.Text == parameter
	})
}

// kernelPackage is the remedy of installing another kernel of the distribution.
func (j *judge) kernelPackage(text string, debian ...string) Remedy {
	r := Remedy{Text: text + j.fromOutside(), Reboot: true}
	if j.inv.Distribution.ID == "debian" && j.fromOutside() == "" && len(debian) > 0 {
		r.Commands = []string{"apt-get install " + strings.Join(debian, " ")}
	}
	return r
}

// fromOutside says that the kernel comes from outside the machine, where none is installed.
func (j *judge) fromOutside() string {
	if j.inv.Kernel.Image != "" || len(j.inv.Settings) == 0 {
		return ""
	}
	return "; the machine's host supplies its kernel, as none is in /boot"
}

// profiles are the profiles that are searched for a setting, the milder first.
var profiles = []string{tune.Latency, tune.Realtime}

// tuned is the remedy by which nines changes settings and restores them, if the catalogue
// of package tune has one of the paths for this host.
func (j *judge) tuned(paths ...string) []Remedy {
	for _, name := range profiles {
		for _, s := range j.catalogue(name) {
			if s.Absent == "" && slices.Contains(paths, s.Path) {
				return []Remedy{{
					Text:     "let nines set it, with the rest of its profile " + name + ", and restore it by nines tune revert",
					Commands: []string{fmt.Sprintf("nines tune apply --profile %s --cpus %s", name, j.target())},
				}}
			}
		}
	}
	return nil
}

// catalogue is what a profile sets on this host, computed once.
func (j *judge) catalogue(name string) []tune.Setting {
	if settings, known := j.settings[name]; known {
		return settings
	}
	profile, _ := tune.BuiltIn(name)
	if j.settings == nil {
		j.settings = map[string][]tune.Setting{}
	}
	j.settings[name] = tune.Settings(j.inv, j.scope.own(), profile)
	return j.settings[name]
}

// tunePlan is the command that prints the whole kernel command line.
func (j *judge) tunePlan() string { return "nines tune plan --cpus " + j.target() }

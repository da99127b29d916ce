package tune

import (
	"errors"
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

func TestAUsersProfile(t *testing.T) {
	p, err := ParseProfile("mine.yaml", []byte(`# for the lab's second rack
base: latency
settings:
  vm.stat_interval: 30
  transparent_hugepage: keep
  smt_siblings: offline
  /proc/sys/net/core/netdev_budget: 600
boot:
  idle: poll
  nosmt: set
  skew_tick: keep
`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "mine" || p.Source != "mine.yaml" {
		t.Errorf("%+v", p)
	}
	inv := inventory(t, "laptop-i7-1165g7")
	list := Settings(inv, []int{2}, p)
	if s := settingOf(t, list, "vm.stat_interval"); s.Value != "30" {
		t.Errorf("stat_interval %s", s.Value)
	}
	if s := settingOf(t, list, "vm.swappiness"); s.Value != "10" {
		t.Errorf("swappiness, of the base: %s", s.Value)
	}
	if s := settingOf(t, list, "smt_siblings"); s.Path != "/sys/devices/system/cpu/cpu6/online" || s.Value != "0" {
		t.Errorf("siblings: %+v", s)
	}
	if s := settingOf(t, list, "/proc/sys/net/core/netdev_budget"); s.Value != "600" || s.Source != "mine.yaml" {
		t.Errorf("own file: %+v", s)
	}
	for _, s := range list {
		if s.Name == "transparent_hugepage" {
			t.Error("transparent_hugepage is to be kept")
		}
	}
	line := Line(BootParameters(inv, []int{2}, p, Use{}))
	if !strings.Contains(line, " nosmt ") || !strings.Contains(line, " idle=poll") || strings.Contains(line, "skew_tick") {
		t.Errorf("the line: %s", line)
	}
}

func TestWrongProfilesAreRefusedWithTheirPlace(t *testing.T) {
	cases := map[string]string{
		"":                                    "the profile is empty",
		"base: latancy":                       `f.yaml:1:7: base: "latancy" is not a profile; did you mean "latency"?`,
		"bases: latency":                      `f.yaml:1:1: bases: unknown key; did you mean "base"?`,
		"settings:\n  vm.stat_intervall: 1":   `f.yaml:2:3: settings.vm.stat_intervall: unknown setting; did you mean "vm.stat_interval"?`,
		"settings:\n  /etc/passwd: 1":         "f.yaml:2:3: settings./etc/passwd: is not a file of the kernel's settings",
		"settings:\n  /sys/../etc/passwd: 1":  "is not a file of the kernel's settings",
		"settings:\n  vm.swappiness: [1]":     "f.yaml:2:18: settings.vm.swappiness: has no value",
		"settings:\n  vm.swappiness:":         "has no value",
		"settings: 3":                         "f.yaml:1:11: settings: is not a mapping",
		"settings:\n  cpu_dma_latency: low":   "is not a number of microseconds",
		"boot:\n  idle: poll; reboot":         "is not allowed in a boot loader's file",
		"boot:\n  a$b: c":                     "is not a name of a boot parameter",
		"boot:\n  idle: \"po\\nll\"":          "more than one line",
		"base: latency\nbase: realtime":       "",
		"{":                                   "is not YAML",
		"settings:\n  a: 1\n  a: 2\n  b: [\n": "is not YAML",
	}
	for text, words := range cases {
		_, err := ParseProfile("f.yaml", []byte(text))
		var errs spec.Errors
		if !errors.As(err, &errs) || errs.ExitCode() != 2 || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
}

func FuzzProfile(f *testing.F) {
	f.Add([]byte("base: latency\nsettings: {vm.swappiness: 3}\nboot: {idle: poll}\n"))
	f.Add([]byte("settings:\n  /sys/x: \"\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProfile("f.yaml", text)
		if err != nil {
			return
		}
		for name, word := range p.Boot {
			if strings.ContainsAny(name+word, " \t\n\"'$`\\") {
				t.Errorf("%q=%q would be read by a shell", name, word)
			}
		}
		for _, own := range p.own() {
			if !ownFile(own.path) {
				t.Errorf("%q leads out of the kernel's settings", own.path)
			}
		}
	})
}

func TestAProfileChoosesWhatIsolateFinds(t *testing.T) {
	beside := []Setting{{Advice: Advice{Name: "irq-affinity"}, Path: "/proc/irq/1/smp_affinity_list"}, {Advice: Advice{Name: "rps"}, Path: "/sys/x"}}
	inv := inventory(t, "microvm")
	count := func(text string) int {
		p, err := ParseProfile("f.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, row := range MakePlan(inv, Request{CPUs: []int{1}, Profile: p, Beside: beside}, Recorded(inv)).Settings {
			if row.Name == "irq-affinity" || row.Name == "rps" {
				found++
			}
		}
		return found
	}
	for text, want := range map[string]int{
		"base: latency": 2, "base: throughput": 0, "base: latency\nsettings: {rps: keep}": 1, "settings: {rps: away}": 1,
	} {
		if got := count(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/tasks"
)

// The host settings that isolate changes, besides control groups and threads.
var (
	adviceDefaultIRQ = tune.Advice{
		Name:   "irq-default-affinity",
		What:   "new interrupts go to the housekeeping CPUs",
		Cost:   "a device that starts meanwhile has all its queues there",
		Source: "Documentation/core-api/irq/irq-affinity.rst; tuned's profile cpu-partitioning",
	}
	adviceIRQ = tune.Advice{
		Name:   "irq-affinity",
		What:   "interrupts are kept off the isolated CPUs: each stops what runs there for microseconds",
		Cost:   "the housekeeping CPUs serve more interrupts; a device with a queue for each CPU loses the spread",
		Source: "Documentation/core-api/irq/irq-affinity.rst; 004, listings of the host's setup; tuned's profile cpu-partitioning",
	}
	adviceRPS = tune.Advice{
		Name:   "rps",
		What:   "received packets of the host's devices are not passed to the isolated CPUs",
		Cost:   "the packets of the host's own devices are spread over fewer CPUs",
		Source: "Documentation/networking/scaling.rst, RPS",
	}
	adviceXPS = tune.Advice{
		Name:   "xps",
		What:   "transmit completions of the host's devices are kept off the isolated CPUs",
		Cost:   "fewer transmit queues for the host's own devices are used without a lock",
		Source: "Documentation/networking/scaling.rst, XPS",
	}
	adviceWorkqueue = tune.Advice{
		Name:   "workqueue-cpumask",
		What:   "unbound kernel work runs on the housekeeping CPUs",
		Cost:   "writeback, unbound crypto and the like have fewer CPUs",
		Source: "Documentation/core-api/workqueue.rst, Affinity Scopes; tuned's profile cpu-partitioning",
	}
)

// Advice describes the settings that isolate makes, for the manual and doctor.
func Advice() []tune.Advice {
	return []tune.Advice{adviceWorkqueue, adviceDefaultIRQ, adviceIRQ, adviceQueue, adviceRPS, adviceXPS}
}

// Away says which CPUs of a host to keep other work off.
type Away struct {
	// Root is put before the host's /proc and /sys.
	Root string
	// Off are the CPUs to keep free. Where no other CPU would remain, Housekeeping is used.
	Off, Housekeeping tasks.Set
	// Held are files that someone has set, who may restore their old values: they are among the
	// settings even if they keep off the CPUs already, so that they stay as they are.
	Held map[string]bool
	// Was is what files held before settings that these replace; nil where they replace none.
	Was map[string]string
}

// Settings are those that keep workqueues, interrupts and the packets of the host's own devices off
// the CPUs. Files that do so already, and are not Held, are left out. It changes nothing.
func Settings(a Away) []tune.Setting {
	c := collector{Away: a}
	c.workqueues()
	c.interrupts()
	c.devices()
	return c.list
}

type collector struct {
	Away
	list []tune.Setting
}

func (c *collector) path(parts ...string) string {
	return filepath.Join(append([]string{c.Root}, parts...)...)
}

// text reads a file, or what it held before; ok is false for one that does not exist or cannot be read, which gets no
// setting.
func (c *collector) text(path string) (string, bool) {
	text, err := os.ReadFile(path)
	if was, known := c.Was[path]; known && err == nil {
		return strings.TrimSpace(was), true
	}
	return strings.TrimSpace(string(text)), err == nil
}

func (c *collector) names(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (c *collector) rest(cpus tasks.Set) tasks.Set {
	if rest := cpus.Minus(c.Off); len(rest) > 0 {
		return rest
	}
	return c.Housekeeping
}

// mask adds a setting for a file with a CPU bitmap, if the bitmap has CPUs that are off, or the
// file is held.
func (c *collector) mask(advice tune.Advice, scope tune.Scope, device, path string) {
	text, ok := c.text(path)
	if !ok {
		return
	}
	now, err := parseMask(text)
	if err != nil || !now.Meets(c.Off) && !c.Held[path] {
		return
	}
	c.list = append(c.list, tune.Setting{
		Advice: advice, Scope: scope, Device: device, Method: tune.Write,
		Path: path, Value: formatMask(c.rest(now), text),
	})
}

func (c *collector) workqueues() {
	dir := c.path("sys/devices/virtual/workqueue")
	// The common mask first: a workqueue's own mask that would become empty falls back to it.
	c.mask(adviceWorkqueue, tune.ScopeHost, "", filepath.Join(dir, "cpumask"))
	for _, name := range c.names(dir) {
		if name != "power" {
			c.mask(adviceWorkqueue, tune.ScopeDevice, "workqueue "+name, filepath.Join(dir, name, "cpumask"))
		}
	}
}

func (c *collector) interrupts() {
	dir := c.path("proc/irq")
	c.mask(adviceDefaultIRQ, tune.ScopeHost, "", filepath.Join(dir, "default_smp_affinity"))
	names := slices.DeleteFunc(c.names(dir), func(name string) bool { _, err := strconv.Atoi(name); return err != nil })
	slices.SortFunc(names, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	for _, number := range names {
		path := filepath.Join(dir, number, "smp_affinity_list")
		text, ok := c.text(path)
		now, err := tasks.ParseSet(text)
		if !ok || err != nil || !now.Meets(c.Off) && !c.Held[path] {
			continue
		}
		c.list = append(c.list, interrupt(filepath.Join(dir, number), c.rest(now)))
	}
}

// interrupt is the setting that moves an interrupt to some CPUs.
func interrupt(dir string, cpus tasks.Set) tune.Setting {
	device := "irq " + filepath.Base(dir)
	entries, _ := os.ReadDir(dir) // its handlers are subfolders
	for _, e := range entries {
		if e.IsDir() {
			device += " (" + e.Name() + ")"
			break
		}
	}
	return tune.Setting{
		Advice: adviceIRQ, Scope: tune.ScopeDevice, Device: device, Method: tune.Write,
		Path: filepath.Join(dir, "smp_affinity_list"), Value: cpus.String(),
	}
}

func (c *collector) devices() {
	dir := c.path("sys/class/net")
	for _, name := range c.names(dir) {
		for _, queue := range c.names(filepath.Join(dir, name, "queues")) {
			device := name + " " + queue
			c.mask(adviceRPS, tune.ScopeDevice, device, filepath.Join(dir, name, "queues", queue, "rps_cpus"))
			c.mask(adviceXPS, tune.ScopeDevice, device, filepath.Join(dir, name, "queues", queue, "xps_cpus"))
		}
	}
}

// parseMask reads a bitmap as the kernel prints it: hexadecimal, with a comma between
// each 32 bits (lib/bitmap-str.c).
func parseMask(text string) (tasks.Set, error) {
	digits := strings.ReplaceAll(text, ",", "")
	var cpus tasks.Set
	for i := range len(digits) {
		digit, err := strconv.ParseUint(digits[len(digits)-1-i:len(digits)-i], 16, 8)
		if err != nil {
			return nil, fmt.Errorf("%q is not a bitmap of CPUs", text)
		}
		for bit := range 4 {
			if digit&(1<<bit) != 0 {
				cpus = append(cpus, 4*i+bit)
			}
		}
	}
	return cpus, nil
}

// formatMask writes a bitmap as wide as like.
func formatMask(cpus tasks.Set, like string) string {
	width := len(strings.ReplaceAll(like, ",", ""))
	digits := make([]byte, max(width, 1))
	for i := range digits {
		value := 0
		for bit := range 4 {
			if slices.Contains(cpus, 4*i+bit) {
				value |= 1 << bit
			}
		}
		digits[len(digits)-1-i] = "0123456789abcdef"[value]
	}
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%8 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digit)
	}
	return b.String()
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

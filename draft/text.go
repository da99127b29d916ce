package draft

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/spec"
)

// The defaults of a draft: those of examples/quickstart.yaml.
const (
	defaultRate  = 10_000
	defaultFrame = 64
	defaultTrial = "1500ms"
)

// Text is the experiment file; path is what it will be called, for the command that runs it.
func (d *Draft) Text(path string) []byte {
	var out strings.Builder
	d.head(&out, path)
	fmt.Fprintf(&out, "name: %s\n\ntopology:\n  nodes:\n", d.options.Name)
	d.generator(&out)
	d.device(&out)
	out.WriteString("  links:\n")
	for _, link := range d.ends() {
		d.link(&out, link)
	}
	d.traffic(&out)
	if d.IsDuet() {
		d.sides(&out)
	} else {
		d.sweep(&out)
	}
	return []byte(out.String())
}

// head is what the file is for, with a drawing of its network.
func (d *Draft) head(out *strings.Builder, path string) {
	fmt.Fprintf(out, "# %s\n#\n#     nines run %s\n#\n", d.question(), path)
	does := "forwards them back to the generator"
	if len(d.programs) > 0 {
		does = "is a program of yours"
	}
	fmt.Fprintf(out, "# A load generator sends packets to a device under test, which %s:\n#\n", does)
	if d.returns() {
		out.WriteString("#     loadgen:eth ──wire── dut:in\n")
	} else {
		out.WriteString("#     loadgen:tx ──in── dut:in ▸ dut:out ──out── loadgen:rx\n")
	}
	switch {
	case d.IsDuet():
		out.WriteString("#\n# Both variants stand side by side, and packets go to both, a few microseconds apart (docs/duet.md).\n")
	case d.Variants() > 1:
		out.WriteString("#\n# The variants take turns, so that a drift of the host affects all of them alike.\n")
	}
}

// question is what the file answers, in one line.
func (d *Draft) question() string {
	titles := d.titles()
	if len(titles) == 1 {
		return "How much latency does " + titles[0] + " add?"
	}
	last := len(titles) - 1
	return "Which is faster: " + strings.Join(titles[:last], ", ") + " or " + titles[last] + "?"
}

// titles are the variants by what differs between them.
func (d *Draft) titles() []string {
	titles := []string{""}
	join := func(names []string) {
		if len(names) < 2 {
			return
		}
		var joined []string
		for _, before := range titles {
			for _, name := range names {
				joined = append(joined, strings.TrimSpace(before+" "+name))
			}
		}
		titles = joined
	}
	join(programTitles(d.programs))
	join(variantTitles(d.runtimes))
	join(variantTitles(d.links))
	if len(titles) == 1 {
		if len(d.programs) > 0 {
			return programTitles(d.programs)
		}
		return variantTitles(d.links)
	}
	return titles
}

func programTitles(list []program) (titles []string) {
	for _, p := range list {
		titles = append(titles, p.title)
	}
	return titles
}

func variantTitles(list []variant) (titles []string) {
	for _, v := range list {
		titles = append(titles, v.title())
	}
	return titles
}

// first are the keys of a node whose threads of nines sleep, and are before other programs when they wake.
const first = "scheduling: {policy: fifo, priority: 1}"

// isFirst is true where nines' threads get a real-time priority. A program of the user's never does: one that does not sleep
// would take the CPU from the whole host.
func (d *Draft) isFirst() bool { return d.options.Crowd != "" && d.options.RealTime }

// generator writes the node that sends and receives.
func (d *Draft) generator(out *strings.Builder) {
	keys := ""
	if d.isFirst() {
		keys = first
	}
	fmt.Fprintf(out, "    loadgen: {%s} # a network namespace, in which nines sends and receives\n", keys)
}

// device writes the node under test.
func (d *Draft) device(out *strings.Builder) {
	var runtime string
	switch {
	case len(d.runtimes) > 0:
		runtime = d.runtimes[0].name
	case len(d.programs) == 0:
		runtime = d.options.Runtime
	}
	out.WriteString("    dut:\n")
	if runtime != "" {
		fmt.Fprintf(out, "      runtime: %s\n", runtime)
	}
	if len(d.runtimes) == 1 {
		for _, s := range d.runtimes[0].keys {
			fmt.Fprintf(out, "      %s: %s\n", s.key, yamlText(s.value))
		}
	}
	if len(d.programs) == 0 {
		if !d.IsDuet() { // whose sides share the CPU that there is
			out.WriteString("      cpus: 1 # a CPU of its own\n")
		}
		wait := ""
		if d.options.Crowd != "" {
			wait = ", wait: block"
		}
		if d.isFirst() {
			out.WriteString("      " + first + "\n")
		}
		fmt.Fprintf(out, "      app: {kind: forward%s} # nines' own forwarder; 'nines try --service' has a program of yours here\n", wait)
		return
	}
	own := ""
	if d.leaves().Descriptor().Routes { // else the kernel would carry packets past the program
		own = ", forwarding: own"
	}
	fmt.Fprintf(out, "      app: {kind: device, leaves: %s%s} # %s\n", d.leaves(), own, d.leaves().Descriptor().Doc)
	out.WriteString("      # It finds its addresses in its environment: NINES_IN_IP, NINES_TO_IP, NINES_PORT (docs/services.md).\n")
	fmt.Fprintf(out, "      services: %s\n", d.service(d.programs[0]))
}

// service is the list of a node's services that has only this program. One to which packets are addressed is ready when it
// listens at their port, so that one which ends at once says so before anything is measured.
func (d *Draft) service(p program) string {
	run := make([]string, len(p.run))
	for i, word := range p.run {
		run[i] = yamlWord(word)
	}
	ready := ""
	if d.leaves().Descriptor().ToDevice {
		ready = fmt.Sprintf(", ready: {port: %d/udp}", spec.EnginePort)
	}
	return fmt.Sprintf("[{name: %s, run: [%s], dir: %s%s}]", yamlWord(p.name), strings.Join(run, ", "), yamlWord(p.dir), ready)
}

// link is one between two ends.
type link struct{ name, from, to string }

func (d *Draft) ends() []link {
	if d.returns() {
		return []link{{"wire", "loadgen:eth", "dut:in"}}
	}
	return []link{{"in", "loadgen:tx", "dut:in"}, {"out", "dut:out", "loadgen:rx"}}
}

func (d *Draft) link(out *strings.Builder, l link) {
	keys := "kind: " + d.links[0].name
	if len(d.links) == 1 {
		for _, s := range d.links[0].keys {
			keys += fmt.Sprintf(", %s: %s", s.key, yamlText(s.value))
		}
	}
	fmt.Fprintf(out, "    - {name: %s, endpoints: [%q, %q], %s}\n", l.name, l.from, l.to, keys)
}

func (d *Draft) traffic(out *strings.Builder) {
	from, to := "loadgen:tx", "loadgen:rx"
	if d.returns() {
		from, to = "loadgen:eth", "loadgen:eth"
	}
	rate, frame, backend := float64(defaultRate), defaultFrame, "raw # packet sockets\n  io: batch"
	if len(d.rates) > 0 {
		rate = d.rates[0]
	}
	if len(d.frames) > 0 {
		frame = d.frames[0]
	}
	if d.bypasses() {
		backend = "dpdk # a link without an interface of the kernel needs it"
	}
	wait := "spin # no thread sleeps, so the latency contains no wake-up"
	if d.options.Crowd != "" {
		wait = "block # " + d.options.Crowd + ": a thread that polls would wait for them, one that sleeps is woken"
	}
	fmt.Fprintf(out, `
traffic:
  from: %s
  to: %s
  frame_bytes: %d # an Ethernet frame with its FCS; 64 is the shortest
  rate_pps: %s # packets a second
  backend: %s
  wait: %s
  warmup: 300ms
`, from, to, frame, number(rate), backend, wait)
	if !d.IsDuet() {
		fmt.Fprintf(out, "  duration: %s\n", d.lasts(defaultTrial))
	}
	out.WriteString("  drain: 200ms\n")
}

// lasts is how long packets are sent.
func (d *Draft) lasts(otherwise string) string {
	if d.options.For > 0 {
		return d.options.For.String()
	}
	return otherwise
}

// number is a rate without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// yamlText is a word of a command line as a value in YAML: a list or mapping as it is, and what may be more than a word
// in quotes.
func yamlText(text string) string {
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") || strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return text
	}
	for _, c := range text {
		if !isAlphanumeric(c) && !strings.ContainsRune("._/+", c) {
			return strconv.Quote(text)
		}
	}
	return text
}

// yamlWord is a word of a command line as a text in YAML, never as a number, a truth value or a list.
func yamlWord(text string) string {
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil || read != any(text) {
		return strconv.Quote(text)
	}
	return yamlText(text)
}

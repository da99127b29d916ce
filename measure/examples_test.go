package measure

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

const examples = "../examples"

// comparisons returns the experiments that have a quick variant.
func comparisons(t *testing.T) []string {
	t.Helper()
	quick, err := filepath.Glob(filepath.Join(examples, "*", "quick", "*.yaml"))
	if err != nil || len(quick) == 0 {
		t.Fatalf("no quick examples: %v", err)
	}
	return quick
}

func loadExample(t *testing.T, path string) *spec.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := spec.Load(path, data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTwoCPUsAreEnoughForTheExamples plans them all for a recorded host with two CPUs, and for a
// server.
func TestTwoCPUsAreEnoughForTheExamples(t *testing.T) {
	for _, name := range []string{"microvm", "xeon-e5-2640v4"} {
		data, err := os.ReadFile("../host/testdata/hosts/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		inventory, err := host.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, quick := range comparisons(t) {
			for _, path := range []string{quick, filepath.Join(filepath.Dir(filepath.Dir(quick)), filepath.Base(quick))} {
				if _, err := Prepare(loadExample(t, path), inventory); err != nil {
					t.Errorf("%s on %s: %v", path, name, err)
				}
			}
		}
	}
}

// TestTwoContainersOnAServer plans what the comparison's README says for more than two CPUs.
func TestTwoContainersOnAServer(t *testing.T) {
	data, err := os.ReadFile("../host/testdata/hosts/xeon-e5-2640v4.json")
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(examples, "inter-container/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := loadExample(t, filepath.Join(examples, "inter-container/figure-3.yaml"))
	for _, set := range []string{
		"topology.nodes={sender: {runtime: lxc}, receiver: {runtime: lxc}}",
		`links.wire.endpoints=["sender:eth0", "receiver:eth0"]`,
		"traffic.from=sender:eth0", "traffic.to=receiver:eth0",
	} {
		if !strings.Contains(string(readme), set) {
			t.Errorf("the README does not have %q", set)
		}
		if err := file.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	experiment, err := Prepare(file, inventory)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range experiment.Plans() {
		if p.Traffic.Role != "pair" || p.Traffic.FromCPU == p.Traffic.ToCPU {
			t.Errorf("the sender has CPU %d and the receiver CPU %d (%s)", p.Traffic.FromCPU, p.Traffic.ToCPU, p.Traffic.Role)
		}
	}
}

// publishedTimes are those of the measurements that the example folders follow, if they differ from
// 20 s after 20 s of warm-up.
var publishedTimes = map[string]struct{ warmup, duration time.Duration }{
	"low-latency-containers": {30 * time.Second, 45 * time.Second},
	"kernel-busy-poll":       {5 * time.Second, 60 * time.Second},
}

// TestQuickExamplesAreTheWholeOnesMadeShort checks that a quick variant measures the same: its
// combinations are a subset, and differ only in times, repeats, outliers and how far a search goes.
func TestQuickExamplesAreTheWholeOnesMadeShort(t *testing.T) {
	const most = 3 * time.Minute
	for _, quick := range comparisons(t) {
		short, long := loadExample(t, quick), loadExample(t, filepath.Join(filepath.Dir(filepath.Dir(quick)), filepath.Base(quick)))
		whole := make(map[string]string)
		times, ok := publishedTimes[filepath.Base(filepath.Dir(filepath.Dir(quick)))]
		if !ok {
			times.warmup, times.duration = 20*time.Second, 20*time.Second
		}
		for _, run := range runsOf(t, long) {
			whole[withoutTimes(t, run.Experiment)] = run.String()
			if !run.Experiment.Method.Plain() {
				continue // the procedure sets its own times
			}
			if d, w := time.Duration(run.Experiment.Traffic.Duration), time.Duration(run.Experiment.Traffic.Warmup); d != times.duration || w != times.warmup {
				t.Errorf("%s measures %v after %v, not %v after %v", long.Name(), d, w, times.duration, times.warmup)
			}
		}
		var total time.Duration
		for _, run := range runsOf(t, short) {
			traffic := run.Experiment.Traffic
			if m := run.Experiment.Method; !m.Plain() {
				if !m.Quick && (m.Soak == 0 || m.Soak > spec.Duration(most/4)) {
					t.Errorf("%s: its procedure is not short", quick)
				}
				continue
			}
			total += time.Duration(run.Experiment.Repeat) * time.Duration(traffic.Warmup+traffic.Duration+traffic.Drain)
			if _, ok := whole[withoutTimes(t, run.Experiment)]; !ok && !strings.Contains(run.String(), "rate_pps") {
				t.Errorf("%s: %s is not in the whole experiment", quick, run)
			}
		}
		if total > most/2 { // building labs and baselines take the rest
			t.Errorf("%s sends for %v, and is to be done in %v", quick, total, most)
		}
	}
}

func runsOf(t *testing.T, file *spec.File) []spec.Run {
	t.Helper()
	runs, err := file.Runs()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func withoutTimes(t *testing.T, e *spec.Experiment) string {
	t.Helper()
	same, traffic := *e, *e.Traffic
	same.Name = strings.TrimSuffix(same.Name, "-quick")
	traffic.Warmup, traffic.Duration, traffic.Drain, traffic.Outliers = 0, 0, 0, 0
	same.Traffic, same.Repeat = &traffic, 0
	same.Images = maps.Clone(e.Images)
	maps.DeleteFunc(same.Images, func(name string, _ *spec.ImageRecipe) bool { // of no node of this run
		return !slices.ContainsFunc(slices.Collect(maps.Values(e.Topology.Nodes)), func(n *spec.Node) bool { return n != nil && n.Image == name })
	})
	if len(same.Images) == 0 {
		same.Images = nil
	}
	if e.Method != nil {
		method := *e.Method
		method.Quick, method.Width, method.Trial, method.Settle, method.Soak, method.Window = false, 0, 0, 0, 0, 0
		same.Method = &method
	}
	text, err := json.Marshal(same)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamplesRun runs a little of each comparison on every installed kind of link, and checks no
// figures.
func TestExamplesRun(t *testing.T) {
	labtest.Experiment(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	const some = -1
	docker := []string{"sweep.network.Docker="} // TestExamplesWithDocker has it
	tests := map[string]struct {
		sets []string
		// lacking are cases that may be left out: no distribution has these programs, and not every
		// host has a card.
		lacking        []string
		trials, maxima int
	}{
		"inter-container/quick/table-1.yaml":             {[]string{"repeat=1"}, nil, 6, 0},
		"inter-container/quick/figure-2.yaml":            {[]string{"traffic.rate_pps=20k", "traffic.frame_bytes=512"}, []string{"sriov", "vpp", "snabb"}, 13, 0},
		"inter-container/quick/figure-3.yaml":            {[]string{"link=switch"}, nil, 3, 0},
		"inter-container/quick/bursts.yaml":              {[]string{"link=memif"}, nil, 3, 0},
		"inter-container/quick/latency.yaml":             {[]string{"sweep.traffic.rate_of_maximum=[0.1]", "link=veth raw"}, nil, 1, 1},
		"container-latency/quick/container-latency.yaml": {[]string{"path=container", "sweep.traffic.rate_of_maximum=[0.1, 0.5]"}, nil, 2, 1},

		// Isolation rearranges the host: the virtual laboratory tests have it, and virtual machines beside
		// containers. Only releases.yaml boots one here.
		"low-latency-containers/quick/base.yaml":       {[]string{"traffic.rate_pps=100k"}, nil, 2, 0},
		"low-latency-containers/quick/worst.yaml":      {[]string{"nodes.dut.runtime=lxc"}, nil, 1, 0},
		"low-latency-containers/quick/low-rates.yaml":  {[]string{"sweep.traffic.rate_pps=[10k, 120k]"}, nil, 2, 0},
		"low-latency-containers/quick/interrupts.yaml": {nil, nil, 2, 0},
		"low-latency-containers/quick/isolcpus.yaml":   {[]string{"isolation=affinity"}, nil, 1, 0},
		"low-latency-containers/quick/isolation.yaml":  {[]string{"isolation=none"}, nil, 2, 0},
		"low-latency-containers/quick/cgroups.yaml":    {[]string{"isolation=affinity", "repeat=1"}, nil, 3, 0},
		"low-latency-containers/quick/runtimes.yaml":   {[]string{"path=sockets", "sweep.runtime.vm=", "sweep.runtime.docker="}, nil, 2, 0},
		"low-latency-containers/quick/flows.yaml":      {nil, nil, 4, 0},
		"low-latency-containers/quick/releases.yaml":   {[]string{"nodes.dut.vm.kernel=debian12", "traffic.rate_pps=1k"}, nil, 1, 0},

		// A search takes as many trials as it needs, and a soak one per window.
		"kernel-busy-poll/quick/latency.yaml":     {append(docker, "traffic.frame_bytes=512"), nil, 8, 0},
		"kernel-busy-poll/quick/competition.yaml": {nil, nil, 12, 0},
		"kernel-busy-poll/quick/intervals.yaml":   {nil, nil, 4, 0},
		"kernel-busy-poll/quick/throughput.yaml":  {[]string{"rx=busy_poll", "method.trial=50ms", "method.max_rate_pps=20k"}, nil, some, 0},
		"kernel-busy-poll/quick/soak.yaml":        {[]string{"method.soak=1s", "method.window=500ms"}, nil, some, 0},
		"kernel-busy-poll/quick/pod-network.yaml": {nil, nil, 4, 0},
		"kernel-busy-poll/quick/pod-network-throughput.yaml": {
			[]string{"rx=interrupt", "method.trial=50ms", "method.max_rate_pps=10k"}, nil, some, 0},
		"kernel-busy-poll/quick/stages.yaml": {[]string{"guest=container"}, nil, 1, 0},

		// The live patch may not be built for the guest's kernel: the laboratory's tests have it.
		"kernel-busy-poll/quick/virtual-machine.yaml": {[]string{"sweep.solution.KBP="}, nil, 2, 0},
		"kernel-busy-poll/quick/virtual-machine-soak.yaml": {
			[]string{"nodes.dut.rx=interrupt", "method.soak=1s", "method.window=500ms", "traffic.rate_bits=1Mbit/s"}, nil, some, 0},
		"kernel-busy-poll/quick/virtual-machine-throughput.yaml": {
			[]string{"solution=NAPI", "method.trial=50ms", "method.max_rate_pps=2k"}, nil, some, 0},
	}
	folders := map[string]bool{}
	for _, quick := range comparisons(t) {
		name, err := filepath.Rel(examples, quick)
		if err != nil {
			t.Fatal(err)
		}
		test, ok := tests[name]
		if !ok {
			t.Errorf("%s is not run by this test", name)
			continue
		}
		// Only the long form runs all of them; otherwise one per folder.
		folder := filepath.Dir(quick)
		if folders[folder] && !labtest.Long() {
			continue
		}
		folders[folder] = true
		t.Run(name, func(t *testing.T) {
			file := loadExample(t, quick)
			times := []string{"traffic.warmup=20ms", "traffic.drain=50ms"}
			if runsOf(t, file)[0].Experiment.Method.Plain() {
				times = append(times, "traffic.duration=100ms")
			}
			for _, set := range append(test.sets, times...) {
				if err := file.Set(set); err != nil {
					t.Fatal(err)
				}
			}
			_, _, done := measured(t, file, inventory)
			for _, skipped := range done.Summary.Skipped {
				if link, _ := skipped.Variables["link"].(string); !slices.Contains(test.lacking, link) {
					labtest.Require(t, skipped.Reason, false)
				}
			}
			if trials, left := len(done.Summary.Trials), len(done.Summary.Skipped); trials+left != test.trials && (test.trials != some || trials == 0) {
				t.Errorf("%d trials and %d left out, want %d together", trials, left, test.trials)
			}
			if diff := cmp.Diff(test.maxima, len(done.Maxima)); diff != "" {
				t.Errorf("maxima (-want +got):\n%s", diff)
			}
			for _, trial := range done.Summary.Trials {
				// If the host takes the CPU away, a short trial may send nothing.
				if trial.RxPackets == 0 && trial.Verdict != result.Invalid {
					t.Errorf("trial %s of %v received nothing and is %s", trial.ID, trial.Variables, trial.Verdict)
				}
			}
		})
	}
}

// measured runs a file's experiment on this host and opens the result.
func measured(t *testing.T, file *spec.File, inventory *host.Inventory) (*Experiment, *result.Writer, *result.Result) {
	t.Helper()
	if d := runsOf(t, file)[0].Experiment.DPDK; d != nil && d.Hugepages == spec.HugepagesReserve {
		labtest.Hugepages(t)
	}
	experiment, err := Prepare(file, inventory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Check(); err != nil {
		labtest.Require(t, err.Error(), false)
	}
	writer, err := result.Create(t.TempDir(), experiment.Name(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return experiment, writer, finish(t, experiment, writer)
}

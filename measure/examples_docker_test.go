package measure

import (
	"path/filepath"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestExamplesWithDocker runs the parts of the examples that need an image of Debian, which takes
// minutes to build, and the drivers of containers.
func TestExamplesWithDocker(t *testing.T) {
	labtest.LongForm(t)
	labtest.Experiment(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		sets   []string
		trials int
	}{
		"oci.yaml":         {nil, 3},
		"oci-drivers.yaml": {nil, 4},
		"low-latency-containers/quick/runtimes.yaml": {[]string{"path=sockets", "runtime=docker"}, 1},
		"kernel-busy-poll/quick/latency.yaml":        {[]string{"network=Docker", "rx=interrupt", "traffic.rate_bits=1Mbit/s"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			file := loadExample(t, filepath.Join(examples, name))
			for _, set := range append(test.sets, "repeat=1", "traffic.warmup=20ms", "traffic.drain=50ms", "traffic.duration=100ms") {
				if err := file.Set(set); err != nil {
					t.Fatal(err)
				}
			}
			_, _, done := measured(t, file, inventory)
			for _, skipped := range done.Summary.Skipped {
				labtest.Require(t, skipped.Reason, false)
			}
			if len(done.Summary.Trials) != test.trials {
				t.Errorf("%d trials, want %d", len(done.Summary.Trials), test.trials)
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

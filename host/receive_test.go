package host

import (
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/kernel/files"
)

// How a kernel can receive follows from its release, its configuration, and whether
// io_uring is allowed.
func TestReceiveFeatures(t *testing.T) {
	yes, no := Feature{State: StateYes}, Feature{State: StateNo, Detail: "off"}
	for _, c := range []struct {
		name, release string
		config        kernelConfig
		ring          Feature
		patches       bool
		want          map[string]State
	}{
		{"6.19", "6.19.0", kernelConfig{"NET_RX_BUSY_POLL": "y"}, yes, false,
			map[string]State{FeatureThreadedBusyPoll: StateYes, FeatureIOUringNAPI: StateYes, FeatureBusyPoll: StateYes}},
		{"6.18", "6.18.5", nil, yes, false,
			map[string]State{FeatureThreadedBusyPoll: StateNo, FeatureIOUringNAPI: StateYes, FeatureIRQSuspend: StateYes, FeatureBusyPoll: StateYes}},
		{"6.18, io_uring off", "6.18.5", nil, no, false,
			map[string]State{FeatureIOUringNAPI: StateNo, FeatureEpollBusyPoll: StateYes, FeatureBusyPoll: StateYes}},
		{"6.18 without busy polling", "6.18.5", kernelConfig{"VETH": "y"}, yes, false,
			map[string]State{FeatureIOUringNAPI: StateNo, FeatureEpollBusyPoll: StateNo, FeatureIRQSuspend: StateNo, FeatureThreadedNAPI: StateYes, FeatureBusyPoll: StateNo}},
		{"6.1 of Debian", "6.1.0-30-amd64", kernelConfig{"NET_RX_BUSY_POLL": "y"}, yes, true,
			map[string]State{FeatureThreadedNAPI: StateYes, FeatureIOUringNAPI: StateNo, FeatureBusyPoll: StateUnknown}},
		{"5.10", "5.10.1", nil, yes, false, map[string]State{FeatureThreadedNAPI: StateNo, FeatureBusyPoll: StateNo}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if c.patches {
				if err := os.MkdirAll(filepath.Join(root, "sys/kernel/livepatch"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]Feature{}
			for _, f := range readReceive(dirTree{files.Dir(root)}, Kernel{Release: c.release}, c.config, c.ring) {
				got[f.Name] = f
			}
			for name, state := range c.want {
				if got[name].State != state || got[name].Detail == "" {
					t.Errorf("%s: %+v, not %s", name, got[name], state)
				}
			}
		})
	}
}

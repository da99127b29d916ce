package labs

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// Echo is a generator and a reflector on one link of a kind; the backends decide which ends DPDK
// opens:
//
//	a:x (generator, from) ──kind── b:y (reflector, app)
//
// It uses ordinary memory, so that it runs without free hugepages.
func Echo(kind, runtime, from, app string) string {
	wait := func(backend string) string {
		if backend == "dpdk" {
			return "dpdk, wait: spin, io: batch"
		}
		return backend
	}
	return fmt.Sprintf(`name: tbbypass
dpdk: {hugepages: none}
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: %s, app: {kind: reflect, backend: %s}}
  links: [{name: l1, kind: %s, endpoints: ["a:x", "b:y"]}]
traffic: {from: "a:x", to: "a:x", backend: %s, rate_pps: 500, frame_bytes: 64}
`, runtime, wait(app), kind, wait(from))
}

// NeedRealSwitch skips a test unless the host has the real program of a link kind.
func NeedRealSwitch(t testing.TB, kind string) {
	t.Helper()
	for _, program := range RealPrograms[kind] {
		labtest.Built(t, program)
	}
	labtest.Root(t)
	labtest.Hugepages(t)
}

// RealPrograms are the programs behind link kinds that Debian lacks.
var RealPrograms = map[string][]string{"snabb": {"snabb"}, "vpp": {"vpp", "vppctl"}}

// RealSwitch is Echo with reserved hugepages, and with frames of a size.
func RealSwitch(kind, runtime, from, app string, frameBytes int) string {
	text := strings.Replace(Echo(kind, runtime, from, app), "hugepages: none", "hugepages: reserve", 1)
	return strings.NewReplacer("frame_bytes: 64", fmt.Sprintf("frame_bytes: %d", frameBytes), "name: tbbypass", "name: tbreal").Replace(text)
}

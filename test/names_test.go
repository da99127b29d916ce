package test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named are constants that name one of several things of a sort, and the files and folders
// that may use them: one describes each of the things, the other has what it does. All
// others ask the description, so that one more thing is no change to them.
var named = map[string][]string{
	`\bRuntime(Netns|LXC|OCI|Host|VM|Pod)\b`: {"spec/runtimes.go", "lab/node/runtime.go"},
	`\bApp(Forward|Reflect|Route)\b`:         {"spec/app.go"},
	`\bLink(Veth|Bridge|Macvlan|XDP|Memif|Switch|Testpmd|OVS|OVSDPDK|VPP|Snabb|SRIOV|Passthrough|PodNetwork|VXLAN|OVN)\b`: {
		"spec/link_kinds.go", "lab/link/kind.go",
		"measure/baseline.go", "test/bench/", "cluster/port/kind.go", // each wants links of certain kinds
	},
}

func TestNobodySwitchesOnNames(t *testing.T) {
	for pattern, allowed := range named {
		constant := regexp.MustCompile(pattern)
		for _, name := range files(t) {
			may := slices.ContainsFunc(allowed, func(place string) bool { return strings.HasPrefix(name, place) })
			if may || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			if found := constant.Find(read(t, name)); found != nil {
				t.Errorf("%s asks for %s; only %v may", name, found, allowed)
			}
		}
	}
}

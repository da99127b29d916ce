package selection

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// here is the repository as it is.
var here = sync.OnceValues(func() (Tree, error) { return ReadTree(context.Background(), "../..") })

func repository(t *testing.T) Tree {
	t.Helper()
	tree, err := here()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// readers are the units that the first file of a pattern counts for: what runs after a change in it.
func readers(t *testing.T, tree Tree, units []Unit, pattern string) []string {
	t.Helper()
	names := slices.DeleteFunc(tree.match(pattern), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) == 0 {
		t.Fatalf("no file is named %s", pattern)
	}
	var found []string
	for _, u := range units {
		if slices.Contains(u.Inputs, names[0]) {
			found = append(found, u.Name)
		}
	}
	return found
}

// selectedBy are the units that run after a change of what has passed whole.
func selectedBy(before []Unit, after Tree) []string {
	verified := Verified{}
	for _, u := range before {
		verified[u.Name] = u.Digest
	}
	return slices.Sorted(maps.Keys(Selected(Units(after), verified)))
}

// TestAChangeInEachRoomSelectsATestOfIt has one file of each room of ARCHITECTURE.md and of each sort, with units that test it
// and, after a "-", some that do not.
func TestAChangeInEachRoomSelectsATestOfIt(t *testing.T) {
	tree := repository(t)
	before := Units(tree)
	for pattern, want := range map[string]string{
		"exit/*.go":                             "exit plan cmd/nines cluster/cmd/nines-cluster",
		"terminal/number.go":                    "terminal report",
		"spec/link_kinds.go":                    "spec plan lab measure cmd/nines - engine/client kernel/cgroup",
		"plan/address.go":                       "plan lab - spec make·test-engine",
		"host/cpu.go":                           "host plan host/doctor - spec",
		"host/doctor/*.go":                      "host/doctor cmd/nines - lab/link",
		"host/tune/*.go":                        "host/tune",
		"host/testdata/hosts/laboratory.json":   "host plan cluster/agent/discovery",
		"kernel/cgroup/*.go":                    "kernel/cgroup lab lab/isolate - spec analysis/extreme",
		"kernel/netns/netns.go":                 "kernel/netns lab/link",
		"journal/*.go":                          "journal lab busypoll",
		"busypoll/*.go":                         "busypoll lab",
		"busypoll/poller/poll.c":                "busypoll lab - journal make·test-engine",
		"busypoll/kmod/kbp/*.c":                 "busypoll",
		"image/*.go":                            "image lab make·test-fresh",
		"vm/machine.go":                         "vm lab test/vm",
		"vm/vlab/*.go":                          "vm/vlab test/vm cmd/nines",
		"lab/*.go":                              "lab measure cmd/nines - plan",
		"lab/node/lxc*.go":                      "lab/node lab",
		"lab/link/*.go":                         "lab/link lab measure",
		"lab/link/xdp/*.bpf.c":                  "lab/link lab",
		"lab/link/snabb/vhost.lua":              "lab/link",
		"lab/isolate/*.go":                      "lab/isolate lab",
		"lab/health/*.go":                       "lab/health",
		"lab/graph/*.go":                        "lab/graph cmd/nines",
		"programs/nines-init/node.c":            "lab measure - engine/client analyze",
		"programs/nines-init/scheduling.c":      "lab busypoll",
		"programs/nines-disturb/spin.c":         "test/disturb test/causes",
		"programs/nines-guest/*.go":             "lab",
		"programs/nines-node/relay.go":          "programs/nines-node lab",
		"programs/nines-script/*.go":            "lab measure",
		"power/ipmi/*.go":                       "power/ipmi lab test/killed",
		"script/*.go":                           "script measure test/killed - lab",
		"engine/stats/histogram.c":              "make·test-engine engine/enginetest lab measure spec - plan terminal",
		"engine/port/taken.h":                   "make·test-engine measure/trace engine/enginetest",
		"engine/stats/histogram_test.c":         "make·test-engine - engine/enginetest lab",
		"engine/control/fuzz_seeds/hello":       "make·test-engine - lab",
		"engine/client/*.go":                    "engine/client engine/enginetest lab",
		"measure/*.go":                          "measure cmd/nines - lab lab/link",
		"measure/method/*.go":                   "measure/method measure",
		"measure/trace/bpf/recorder.bpf.c":      "measure/trace measure test/causes",
		"analyze/*.go":                          "analyze cmd/nines test/killed test/site test/fetch test/wholehost - lab lab/node busypoll",
		"analyze/packetfile/*.go":               "analyze/packetfile analyze - lab busypoll",
		"result/columns.go":                     "result report measure - plan",
		"result/index/*.go":                     "result/index",
		"analysis/attribution/*.go":             "analysis/attribution report/explain test/causes test/killed - lab busypoll",
		"analysis/extreme/*.go":                 "analysis/extreme report - lab lab/link kernel/netns",
		"report/*.go":                           "report cmd/nines test/killed test/site test/fetch test/wholehost - measure lab lab/node busypoll",
		"report/figure/*.go":                    "report/figure test/killed - lab busypoll",
		"web/src/index.html":                    "make·test-web report",
		"web/test/*.ts":                         "make·test-web - report",
		"cluster/agent/*.go":                    "cluster/agent - lab",
		"cluster/local/*.go":                    "cluster/local - cluster/dra lab",
		"cluster/pod/*.go":                      "cluster/pod cluster/local",
		"cluster/deploy/agent/*.yaml":           "cluster/deploy/helm cluster/local - lab",
		"cluster/deploy/chart/templates/*.yaml": "cluster/deploy/helm",
		"cluster/scheduler/*.go":                "cluster/scheduler - lab",
		"cmd/nines/*.go":                        "cmd/nines test/causes cluster/agent/measure test/killed test/site test/fetch test/wholehost - cluster/cni cluster/port lab lab/link busypoll",
		"cluster/port/*.go":                     "cluster/port cluster/local",
		"cluster/dra/*.go":                      "cluster/dra",
		"cluster/cni/*.go":                      "cluster/cni",
		"cluster/containerd/go.mod":             "cluster/local - cluster/dra lab",
		"examples/quickstart.yaml":              "make·test-fresh - analysis/extreme",
		"examples/ospf.yaml":                    "cmd/nines - lab",
		"docs/reference/commands.md":            "cmd/nines - lab plan",
		"CHANGELOG.md":                          "- lab plan cmd/nines make·test-fresh",
		"hack/setup/packages.txt":               "make·test-fresh - lab",
		"hack/stages.sh":                        "- lab make·test-fresh",
		"test/labtest/needs.go":                 "test/labtest - lab", // what lab uses of it counts for it, as the next test shows
		"test/passes/order.go":                  "test/passes - lab",
		"Makefile":                              "lab make·test-fresh report - plan",
		"hack/go":                               "plan lab spec cluster/dra make·test-engine make·test-web",
	} {
		t.Run(strings.ReplaceAll(pattern, "/", "·"), func(t *testing.T) {
			got := readers(t, tree, before, pattern)
			wanted, not, _ := strings.Cut(want, "- ")
			for _, of := range []struct {
				names    string
				selected bool
			}{{wanted + " test test/selection test/smoke", true}, {not, false}} {
				for name := range strings.FieldsSeq(of.names) {
					unit := "nines.dev/nines/" + name
					if target, ok := strings.CutPrefix(name, "make·"); ok {
						unit = "make " + target
					}
					if !slices.ContainsFunc(before, func(u Unit) bool { return u.Name == unit }) {
						t.Errorf("there are no tests of %s", unit)
					} else if slices.Contains(got, unit) != of.selected {
						t.Errorf("the tests of %s are selected: %v", unit, !of.selected)
					}
				}
			}
		})
	}
}

// Of the package that nearly all tests share, what they use counts for them.
func TestADeclarationOfSharedTestsCountsForWhoUsesIt(t *testing.T) {
	tree := repository(t)
	before := Units(tree)
	next := maps.Clone(tree)
	const name, said = "test/labtest/postgres.go", "s3cret-of-the-test"
	text := strings.Replace(string(tree[name].Content), said, "another", 1)
	if text == string(tree[name].Content) {
		t.Fatalf("%s does not say %s", name, said)
	}
	next[name] = NewFile([]byte(text), 0o644)
	got := selectedBy(before, next)
	for unit, want := range map[string]bool{"result/index": true, "test/labtest": true, "lab": false, "kernel/netns": false} {
		if slices.Contains(got, "nines.dev/nines/"+unit) != want {
			t.Errorf("a change in what starts PostgreSQL selects %s: %v", unit, !want)
		}
	}
}

// A file that no rule maps counts for everything, and so does a new one in a new folder.
func TestWhatNoRuleMapsCountsForEverything(t *testing.T) {
	tree := repository(t)
	before := Units(tree)
	for _, name := range []string{"strange/thing.bin", "settings.conf"} {
		next := maps.Clone(tree)
		next[name] = NewFile([]byte("x"), fs.FileMode(0o644))
		if got := selectedBy(before, next); len(got) != len(before) {
			t.Errorf("a new %s selects %d of %d units", name, len(got), len(before))
		}
	}
	// A new file in a package counts for it and for those that import it.
	next := maps.Clone(tree)
	next["analysis/extreme/more.go"] = NewFile([]byte("package extreme\n"), 0o644)
	got := selectedBy(before, next)
	if !slices.Contains(got, "nines.dev/nines/analysis/extreme") || slices.Contains(got, "nines.dev/nines/plan") {
		t.Errorf("a new file in a package selects %v", got)
	}
	// One that is gone counts, too.
	delete(next, "analysis/extreme/more.go")
	delete(next, "analysis/extreme/pareto.go")
	if got := selectedBy(before, next); !slices.Contains(got, "nines.dev/nines/analysis/extreme") {
		t.Errorf("a removed file selects %v", got)
	}
}

// What the files count for is what is selected.
func TestAChangeSelectsWhatItCountsFor(t *testing.T) {
	tree := repository(t)
	before := Units(tree)
	for _, name := range []string{"analysis/extreme/pareto.go", "engine/stats/histogram.c", "docs/links.md"} {
		next := maps.Clone(tree)
		next[name] = NewFile(append(slices.Clone(tree[name].Content), '\n'), 0o644)
		if got, want := selectedBy(before, next), readers(t, tree, before, name); !slices.Equal(got, want) {
			t.Errorf("a change in %s selects %v; it counts for %v", name, got, want)
		}
	}
}

// Nothing has changed: only what always runs is selected.
func TestWhatHasPassedIsLeftOut(t *testing.T) {
	tree := repository(t)
	for _, name := range selectedBy(Units(tree), tree) {
		if folder := strings.TrimPrefix(name, "nines.dev/nines/"); !whole[folder] {
			t.Errorf("%s is selected", name)
		}
	}
}

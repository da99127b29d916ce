package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "nines.dev/nines/"

// mayImport says which packages of the project each package may import: those before
// it in the way of the data (ARCHITECTURE.md), and no others. A new package needs a
// line here. Its tests are held to the same. All may import exit, which imports nothing.
var mayImport = map[string][]string{
	"exit":             {},
	"expect":           {},
	"spec":             {"terminal", "expect"},
	"result":           {"terminal"},
	"engine/client":    {},
	"fault":            {},
	"terminal":         {}, // what prints may import it
	"terminal/command": {"terminal", "kernel/refusal", "kernel/signals"},

	"kernel/await":        {},
	"kernel/boot":         {},
	"kernel/cputime":      {},
	"kernel/flock":        {"kernel/replace"},
	"kernel/replace":      {"fault"},
	"kernel/ledger":       {"kernel/flock", "kernel/replace", "fault"},
	"kernel/netns":        {"kernel/proc"},
	"kernel/openat":       {},
	"kernel/packetfilter": {},
	"kernel/proc":         {},
	"kernel/refusal":      {},
	"kernel/signals":      {},
	"kernel/thread":       {},
	"kernel/cgroup":       {},
	"kernel/cpulist":      {},
	"kernel/files":        {},
	"kernel/hugepages":    {"kernel/await", "kernel/boot", "kernel/ledger", "fault"},
	"kernel/tasks":        {"kernel/proc", "kernel/replace", "fault"},
	"kernel/napi":         {"kernel/ethtool", "kernel/netns"}, // netns: in its tests
	"kernel/netfilter":    {"kernel/netns"},                   // in its tests
	"kernel/ethtool":      {"kernel/netns"},                   // in its tests
	"kernel/pci":          {"kernel/boot", "kernel/ethtool", "kernel/files", "kernel/flock", "kernel/ledger", "fault"},

	"host":        {"vm/qemuversion", "terminal", "kernel/thread", "kernel/ethtool", "kernel/files", "kernel/netns", "kernel/pci"},
	"host/tune":   {"spec", "host", "terminal", "journal", "journal/folder", "journal/process", "journal/setting", "kernel/flock", "kernel/proc", "kernel/replace", "fault"},
	"host/doctor": {"spec", "host", "plan", "host/tune", "terminal", "kernel/ethtool"}, // ethtool: in its tests

	"plan": {"spec", "host", "terminal"},

	"draft": {"spec", "terminal"},

	// Protocols know only what is done to a node, and who wires them to a lab.
	"power":         {},
	"power/ipmi":    {"power"},
	"power/redfish": {"power"},
	// The journal imports no other room: a package that makes things registers how they are undone.
	"journal":         {"fault", "kernel/boot"},
	"journal/folder":  {"journal", "kernel/openat", "fault"},
	"journal/process": {"journal", "kernel/netns", "kernel/proc"},
	"journal/setting": {"journal", "kernel/boot", "kernel/ledger", "fault"},

	"busypoll":      makers,
	"busypoll/kmod": {},
	"busypoll/kbp":  {"busypoll/kmod", "kernel/ledger", "kernel/proc"},

	"vm":             {"vm/qemuversion", "vm/guestagent", "vm/boot", "kernel/boot", "kernel/flock"},
	"vm/guestagent":  {},
	"vm/boot":        {},
	"vm/qemuversion": {},
	"vm/guestimage":  {"kernel/flock"},
	"image":          {"spec", "kernel/flock", "kernel/proc", "kernel/replace", "vm/guestimage"},
	"vm/vlab":        {"busypoll/kbp", "vm", "vm/boot", "vm/guestimage"},

	"lab": slices.Concat(makers, insiders, []string{
		"lab/bmc", "lab/capture", "lab/change", "lab/check", "lab/control", "lab/disturb", "lab/dryrun", "lab/engine", "lab/health", "lab/login", "lab/receive", "lab/scripts", "lab/service", "lab/watch",
		"engine/client", "kernel/tasks", "busypoll",
		"fault", "power", "script/wire", "vm", "terminal",
		"lab/graph", "kernel/ledger", "kernel/packetfilter", "kernel/refusal", "kernel/thread"}), // in its tests
	"lab/bmc":     slices.Concat(insiders, []string{"lab/check", "power"}),
	"lab/capture": slices.Concat(insiders, []string{"kernel/packetfilter", "terminal"}),
	"lab/change":  {"spec", "plan", "kernel/netns", "lab/check", "lab/isolate", "lab/link", "lab/node"},
	"lab/service": slices.Concat(insiders, []string{"lab/check", "lab/health"}),
	"lab/check":   slices.Concat(insiders, []string{"host/tune", "engine/client", "kernel/netfilter"}),
	"lab/dryrun":  {"spec", "plan", "kernel/netns", "kernel/tasks", "lab/isolate", "lab/link", "lab/node", "lab/state", "terminal"},
	"lab/control": {"power", "lab/state"},
	"lab/disturb": slices.Concat(insiders, []string{"lab/check"}),
	"lab/engine":  slices.Concat(insiders, []string{"engine/client", "kernel/hugepages", "kernel/napi"}),
	"lab/files":   {"lab/node", "lab/running", "kernel/openat", "terminal"},
	"lab/graph":   {"spec", "plan"},
	"lab/health":  {"spec"},
	"lab/login":   slices.Concat(insiders, []string{"lab/check", "kernel/ledger"}),
	"lab/receive": slices.Concat(insiders, []string{"lab/check", "busypoll", "busypoll/kbp", "host", "journal/setting", "kernel/cgroup", "kernel/napi"}),
	"lab/scripts": slices.Concat(insiders, []string{"script/relay", "script/wire"}),
	"lab/watch":   slices.Concat(insiders, []string{"lab/check", "lab/health"}),
	"lab/running": {"spec", "host", "plan", "terminal", "lab/isolate", "lab/link", "lab/node", "lab/state", "engine/client", "host/tune", "journal", "journal/folder", "journal/process",
		"kernel/proc", "kernel/replace"},
	"lab/state": {"plan", "terminal", "lab/isolate", "lab/link", "lab/node", "journal/folder", "kernel/boot", "kernel/flock", "kernel/proc", "kernel/replace",
		"journal"}, // in its tests
	"lab/isolate": slices.Concat(makers, []string{"host/tune", "kernel/tasks"}),
	// A virtual machine's QEMU is a node's, and its guest sets its links up itself.
	"lab/node": slices.Concat(makers, []string{"lab/isolate", "kernel/openat", "kernel/thread", "vm", "vm/guestagent", "vm/boot", "vm/guestimage", "image", "fault"}),
	// Programs of links run in the fabric, which is a node; one of them is our engine.
	"lab/link": slices.Concat(makers, []string{"lab/node", "engine/client", "kernel/ledger", "kernel/tasks", "fault"}),

	"programs/nines-guest": {"vm/guestagent", "vm/boot"},
	"programs/nines-node":  {"lab/link", "lab/receive", "busypoll/kbp", "exit", "measure/trace", "vm", "vm/guestagent", "kernel/netns", "kernel/signals", "lab/node", "plan", "script/relay"},

	"programs/nines-script": {"script/wire", "terminal", "terminal/command"},

	"script":       {"script/wire"},
	"script/relay": {"script/wire"},
	"script/wire":  {},

	"engine/enginetest": {"engine/client", "kernel/hugepages", "kernel/proc"},

	"measure":                 slices.Concat(measurers, []string{"expect", "measure/method", "measure/traffic", "measure/recording", "measure/trace", "measure/steal", "measure/way", "measure/ended", "measure/witness", "lab/health", "analysis/attribution", "analysis/duet", "analysis/undisturbed", "host/doctor", "script"}),
	"measure/traffic":         slices.Concat(measurers, []string{"kernel/proc"}),
	"measure/method":          {"spec", "result", "measure/method/simulate"}, // simulate: in tests only
	"measure/method/simulate": {"result", "measure/method"},
	"measure/metrics":         {"result"},
	"measure/recording":       {"result", "measure/metrics"},
	"measure/trace":           {"kernel/dropreason", "result", "host"},
	"measure/steal":           {},
	"test/devices":            {"result"},
	"measure/ended":           {"kernel/dropreason"},
	"measure/witness":         {},
	"kernel/dropreason":       {},
	"measure/way":             {"result", "plan", "engine/client", "spec"},
	"measure/jitter":          {"result", "engine/client", "kernel/replace", "measure/steal", "terminal"},
	"measure/stall":           {"result", "analysis/attribution", "engine/client", "measure/trace", "measure/jitter", "measure/steal", "terminal"},

	"analyze":            {"result", "measure/metrics", "analyze/packetfile", "analyze/clock", "analyze/synthetic", "terminal"},
	"analyze/clock":      {},
	"analyze/packetfile": {"terminal"},
	"analyze/synthetic":  {"analyze/packetfile"},

	"result/export": {"result", "terminal"},
	"result/index":  {"result", "terminal"},

	"analysis/attribution": {"result", "terminal"},
	"analysis/confidence":  {"result"},
	"analysis/extreme":     {"result", "analysis/confidence"},
	"analysis/undisturbed": {"result", "analysis/confidence"},
	"analysis/duet":        {"result", "analysis/confidence", "analysis/undisturbed"},

	"report":         {"result", "terminal", "analysis/confidence", "analysis/extreme"},
	"report/explain": {"result", "analysis/attribution", "terminal"},
	"report/figure":  {"result", "report", "terminal"},

	"report/expectation": {"expect", "result", "report", "terminal", "analysis/confidence"},

	"examples":  {},
	"reproduce": {"spec", "host", "analyze", "expect", "result", "report/expectation", "report/figure", "terminal", "examples"},

	"cmd/nines":          {everything},
	"cmd/nines/complete": {"lab/state", "plan", "result", "spec"},
	"test":               {},
	"test/golden":        {},
	"test/postgres":      {},
	"test/causes":        {everything},
	"test/disturb":       {},
	"test/plans":         {"test/labtest", "host", "plan", "spec"},
	"test/growth":        {"test/labtest"},

	"test/growth/counter": {"analyze", "analyze/packetfile", "analyze/synthetic", "host", "journal", "lab/change", "lab/check", "lab/dryrun", "lab/node", "plan", "report", "result", "spec"},
	"test/labtest":        {"test/postgres", "engine/client", "kernel/flock"},
	"test/labs":           {"busypoll", "host", "kernel/pci", "kernel/tasks", "lab/link", "lab/login", "plan", "spec", "test/labtest", "test/traces", "vm"},
	"test/traces": {"host", "host/tune", "kernel/cgroup", "kernel/hugepages", "kernel/ledger", "kernel/netns", "kernel/proc", "kernel/tasks", "lab/login", "lab/state", "plan",
		"test/labtest"},
	// They run the command nines, and look at its labs.
	"test/killed":           {"busypoll", "host", "kernel/ethtool", "kernel/hugepages", "kernel/napi", "kernel/netns", "kernel/proc", "lab", "lab/isolate", "lab/login", "spec", "test/labs", "test/labtest", "test/traces"},
	"test/wholehost":        {"host/tune", "journal/setting", "kernel/pci", "kernel/tasks", "lab", "lab/isolate", "lab/state", "spec", "test/labs", "test/labtest", "test/traces"},
	"test/site":             {"kernel/ledger", "kernel/netns", "lab", "lab/link", "test/killed", "test/labs", "test/labtest", "test/traces"},
	"test/fetch":            {"lab", "test/labs", "test/labtest", "test/traces"},
	"test/attack":           {},
	"test/bench":            {everything},
	"test/vm":               {everything},
	"test/vm/boots":         {"test/labtest", "busypoll/kbp", "vm/boot", "vm/guestimage", "vm/vlab"},
	"test/vm/images":        {"test/vm/boots", "vm/guestimage"},
	"test/events":           {},
	"test/passes":           {"test/labtest", "test/events", "test/selection"},
	"test/selection":        {"test/labtest"}, // in its tests
	"test/again":            {"result", "test/labtest"},
	"test/gate":             {"test/labtest"},
	"test/ip6":              {"result", "test/labtest"},
	"test/smoke":            {"spec", "result", "test/labtest"},
	"test/selection/select": {"test/selection"},
}

// makers is what those see that make a plan real and write it into the journal.
var makers = []string{"spec", "host", "kernel/boot", "kernel/flock", "kernel/replace", "kernel/netns", "kernel/openat", "kernel/proc", "kernel/cgroup", "plan", "journal", "journal/folder", "journal/process", "journal/setting", "host/tune", "kernel/hugepages", "kernel/pci", "kernel/ethtool", "busypoll/kbp", "kernel/napi"}

// insiders is what those see that look at a lab that is up, or do something in it.
var insiders = []string{"spec", "plan", "journal", "journal/process", "kernel/netns", "kernel/proc", "kernel/replace", "lab/isolate", "lab/link", "lab/node", "lab/running", "lab/state"}

// measurers is what those see that measure on a running lab.
var measurers = []string{"spec", "result", "lab", "lab/check", "lab/disturb", "lab/engine", "lab/receive", "lab/running", "lab/scripts", "lab/service", "lab/watch", "host", "plan", "lab/link", "engine/client", "kernel/netns"}

// words are what any package may see: exit codes, CPUs as text, and waiting.
var words = []string{"exit", "kernel/await", "kernel/cpulist"}

// forTests are what any package's tests may see, but the package itself may not.
var forTests = []string{"test/labtest", "test/labs", "test/traces", "test/golden", "test/plans"}

// everything is for those who wire the parts together.
const everything = "*"

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(run(t, "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")))
	var list []goPackage
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		t.Fatal("go list names no package")
	}
	return list
}

func TestImportsFollowTheData(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is not in the table of who may import whom: add it to mayImport, after the design", name)
			continue
		}
		if slices.Contains(allowed, everything) {
			continue
		}
		hold := func(imports []string, allowed ...string) {
			for _, imported := range imports {
				other, ours := strings.CutPrefix(imported, module)
				if ours && other != name && !slices.Contains(words, other) && !slices.Contains(allowed, other) {
					t.Errorf("%s imports %s; it may import %v", name, other, allowed)
				}
			}
		}
		hold(p.Imports, allowed...)
		hold(slices.Concat(p.TestImports, p.XTestImports), slices.Concat(allowed, forTests)...)
	}
}

func TestImportTableNamesOnlyPackagesThatExist(t *testing.T) {
	exists := map[string]bool{everything: true}
	for _, p := range packages(t) {
		exists[strings.TrimPrefix(p.ImportPath, module)] = true
	}
	for name, allowed := range mayImport {
		for _, n := range append([]string{name}, allowed...) {
			if !exists[n] {
				t.Errorf("mayImport names %s, which is not a package", n)
			}
		}
	}
}

// TestKernelPackagesAreLeaves: a package of kernel/ imports only others of kernel/, and fault.
func TestKernelPackagesAreLeaves(t *testing.T) {
	for name, allowed := range mayImport {
		for _, other := range allowed {
			if strings.HasPrefix(name, "kernel/") && !strings.HasPrefix(other, "kernel/") && other != "fault" {
				t.Errorf("the table lets %s import %s: move what it needs of that into kernel/, or let that call it", name, other)
			}
		}
	}
}

// room is a row of the table of rooms: | `spec/` | … |, or several folders in one.
var room = regexp.MustCompile("(?m)^\\| ((?:`[a-z/]+/`(?:, )?)+) \\| .* \\|$")

// TestRoomsAreEachThereOnce: the table of rooms in ARCHITECTURE.md names folders that
// exist, each once, and every package is in it, by its own name or by that of the folder
// above it. Those of the tests need not be.
func TestRoomsAreEachThereOnce(t *testing.T) {
	_, rooms, _ := strings.Cut(string(read(t, "ARCHITECTURE.md")), "\n## Rooms\n")
	rooms, _, _ = strings.Cut(rooms, "\n## ")
	named := map[string]bool{}
	for _, row := range room.FindAllStringSubmatch(rooms, -1) {
		for folder := range strings.SplitSeq(row[1], ", ") {
			folder = strings.Trim(folder, "`/")
			if named[folder] {
				t.Errorf("the room %s is listed twice", folder)
			}
			named[folder] = true
			if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
				t.Errorf("the room %s is not a folder", folder)
			}
		}
	}
	for name := range mayImport {
		if !named[name] && !named[path.Dir(name)] && !strings.HasPrefix(name, "test/") {
			t.Errorf("the package %s is in no room", name)
		}
	}
}

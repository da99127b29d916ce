package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
)

// versionOne is what systemd mounts of version 1, from top to bottom as it does.
func versionOne(without ...string) []cgroup.Hierarchy {
	var list []cgroup.Hierarchy
	for _, name := range []string{"cpuset", "cpu,cpuacct", "memory", "devices", "freezer", "pids", "name=systemd"} {
		if !slices.Contains(without, name) {
			list = append(list, cgroup.Hierarchy{Mount: "/sys/fs/cgroup/" + name, Version: 1, Name: name, Controllers: strings.Split(name, ",")})
		}
	}
	return list
}

func versionTwo(mount, controllers string) cgroup.Hierarchy {
	return cgroup.Hierarchy{Mount: mount, Version: 2, Controllers: strings.Fields(controllers)}
}

func TestTheVersionWithTheControllersIsChosen(t *testing.T) {
	whole := versionTwo("/sys/fs/cgroup", "cpuset cpu io memory hugetlb pids rdma misc")
	for name, test := range map[string]struct {
		mounted     []cgroup.Hierarchy
		version     int
		mount       string
		controllers string
	}{
		"version 1":               {versionOne(), 1, "/sys/fs/cgroup/cpuset", ""},
		"version 2":               {[]cgroup.Hierarchy{whole}, 2, "/sys/fs/cgroup", "cpu cpuset io memory hugetlb pids"},
		"hybrid":                  {append(versionOne(), versionTwo("/sys/fs/cgroup/unified", "")), 1, "/sys/fs/cgroup/cpuset", ""},
		"systemd's name beside 2": {[]cgroup.Hierarchy{{Mount: "/systemd", Version: 1, Name: "name=systemd"}, whole}, 2, "/sys/fs/cgroup", "cpu cpuset io memory hugetlb pids"},
		"a kernel without hugetlb and io": {[]cgroup.Hierarchy{versionTwo("/sys/fs/cgroup", "cpuset cpu memory pids")}, 2,
			"/sys/fs/cgroup", "cpu cpuset memory pids"},
		"a part of 2 before the whole": {[]cgroup.Hierarchy{versionTwo("/part", "memory"), whole}, 2, "/sys/fs/cgroup", "cpu cpuset io memory hugetlb pids"},
	} {
		g, err := chooseGroups(test.mounted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.version != test.version || g.hierarchies[0].Mount != test.mount || strings.Join(g.controllers, " ") != test.controllers {
			t.Errorf("%s: version %d at %s with %q", name, g.version, g.hierarchies[0].Mount, g.controllers)
		}
		for _, h := range g.hierarchies {
			if h.Version != test.version {
				t.Errorf("%s: version %d among those of version %d", name, h.Version, test.version)
			}
		}
	}
}

func TestAHostWithoutTheControllersIsToldWhich(t *testing.T) {
	for name, test := range map[string]struct {
		mounted []cgroup.Hierarchy
		want    string
	}{
		"none":              {nil, "lacks cpu, cpuset, memory, pids on this host, or version 1, which lacks cpu, cpuacct, cpuset"},
		"2 without memory":  {[]cgroup.Hierarchy{versionTwo("/sys/fs/cgroup", "cpuset cpu pids")}, "version 2, which lacks memory on this host,"},
		"memory in 2 alone": {append(versionOne("memory"), versionTwo("/unified", "memory")), "lacks cpu, cpuset, pids on this host, or version 1, which lacks memory;"},
	} {
		_, err := chooseGroups(test.mounted)
		if exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// told are steps in words.
func told(steps []groupStep) string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

func TestStepsOfEachVersion(t *testing.T) {
	for name, test := range map[string]struct {
		groups Groups
		want   []string
	}{
		// A cpuset takes no process before it has CPUs and memory.
		"version 1": {Groups{version: 1, hierarchies: []cgroup.Hierarchy{
			{Mount: "/c/cpuset", Version: 1, Name: "cpuset", Controllers: []string{"cpuset"}},
			{Mount: "/c/systemd", Version: 1, Name: "name=systemd"},
		}}, []string{
			`make /c/cpuset/nines-kube-x`,
			`inherit /c/cpuset/nines-kube-x/cpuset.cpus`,
			`inherit /c/cpuset/nines-kube-x/cpuset.mems`,
			`make /c/cpuset/nines-kube-x/n1`,
			`inherit /c/cpuset/nines-kube-x/n1/cpuset.cpus`,
			`inherit /c/cpuset/nines-kube-x/n1/cpuset.mems`,
			`write "7" to /c/cpuset/nines-kube-x/n1/cgroup.procs`,
			`make /c/systemd/nines-kube-x`,
			`make /c/systemd/nines-kube-x/n1`,
			`write "7" to /c/systemd/nines-kube-x/n1/cgroup.procs`,
		}},
		// No group that gives controllers gets a process.
		"version 2": {Groups{version: 2, hierarchies: []cgroup.Hierarchy{{Mount: "/c", Version: 2}}, controllers: []string{"cpu", "memory"}}, []string{
			`make /c/nines-kube-x`,
			`write "+cpu +memory" to /c/nines-kube-x/cgroup.subtree_control`,
			`make /c/nines-kube-x/n1`,
			`make /c/nines-kube-x/n1/nines`,
			`write "7" to /c/nines-kube-x/n1/nines/cgroup.procs`,
		}},
	} {
		if got := told(test.groups.steps("nines-kube-x", "n1", 7)); got != strings.Join(test.want, "\n") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// What a step does to files, on an ordinary file system.
func TestStepsMakeInheritAndWrite(t *testing.T) {
	root := t.TempDir()
	group := filepath.Join(root, "g")
	if err := os.WriteFile(filepath.Join(root, "cpuset.cpus"), []byte("0-3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (groupStep{do: makeGroup, path: group}).take(); err != nil {
		t.Fatal(err)
	}
	// An ordinary file system makes no files with a group.
	for _, name := range []string{"cpuset.cpus", "cgroup.procs"} {
		if err := os.WriteFile(filepath.Join(group, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []groupStep{
		{do: makeGroup, path: group}, // it is there: the second node's
		{do: inheritFile, path: filepath.Join(group, "cpuset.cpus")},
		{do: writeFile, path: filepath.Join(group, "cgroup.procs"), value: "7"},
	} {
		if err := step.take(); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	for name, want := range map[string]string{"cpuset.cpus": "0-3\n", "cgroup.procs": "7"} {
		if text, err := os.ReadFile(filepath.Join(group, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	missing := groupStep{do: makeGroup, path: filepath.Join(root, "nowhere", "n1")}
	if err := missing.take(); err == nil || !strings.Contains(err.Error(), missing.path) {
		t.Errorf("a group below none: %v", err)
	}
}

func TestWhatANodeSeesOfEachVersion(t *testing.T) {
	first, err := chooseGroups(versionOne())
	if err != nil {
		t.Fatal(err)
	}
	seen := first.shown()
	if len(seen.Controllers) != 0 || len(seen.Hierarchies) != len(versionOne()) {
		t.Errorf("of version 1: %+v", seen)
	}
	if i := slices.IndexFunc(seen.Hierarchies, func(h inside.Hierarchy) bool { return h.Folder == "systemd" }); i < 0 ||
		seen.Hierarchies[i].Options != "none,name=systemd" {
		t.Errorf("systemd's: %+v", seen.Hierarchies)
	}
	second, err := chooseGroups([]cgroup.Hierarchy{versionTwo("/c", "cpu cpuset memory pids")})
	if err != nil {
		t.Fatal(err)
	}
	if seen := second.shown(); len(seen.Hierarchies) != 0 || !slices.Equal(seen.Controllers, []string{"cpu", "cpuset", "memory", "pids"}) {
		t.Errorf("of version 2: %+v", seen)
	}
}

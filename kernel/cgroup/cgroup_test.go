package cgroup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
)

func TestBothVersionsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		mountinfo string
		want      []Hierarchy
	}{
		"v2": {"30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
			[]Hierarchy{{Mount: "/sys/fs/cgroup", Version: 2}}},
		"hybrid": {"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
			"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
			"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/x,name=systemd\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			[]Hierarchy{
				{Mount: "/sys/fs/cgroup/cpu,cpuacct", Version: 1, Name: "cpu,cpuacct", Controllers: []string{"cpu", "cpuacct"}},
				{Mount: "/sys/fs/cgroup/systemd", Version: 1, Name: "name=systemd", Controllers: []string{"name=systemd"}},
				{Mount: "/sys/fs/cgroup/unified", Version: 2},
			}},
		"in a container": {"50 40 0:29 /kubepods/pod1/c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			[]Hierarchy{{Mount: "/sys/fs/cgroup/memory", Root: "/kubepods/pod1/c", Version: 1, Name: "memory", Controllers: []string{"memory"}, ReadOnly: true}}},
		"none": {"1 1 8:1 / / rw - ext4 /dev/sda rw\n", nil},
	} {
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(test.mountinfo), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, hierarchies(mounts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDirectoriesAreWhereTheMountPointShowsThem(t *testing.T) {
	whole := Hierarchy{Mount: "/sys/fs/cgroup/memory", Name: "memory", Version: 1}
	container := Hierarchy{Mount: "/sys/fs/cgroup/memory", Root: "/kubepods/pod1/c", Name: "memory", Version: 1}
	for name, test := range map[string]struct {
		groups string
		in     Hierarchy
		want   string
	}{
		"the root":                    {"4:memory:/\n", whole, "/sys/fs/cgroup/memory"},
		"a group":                     {"4:memory:/lab/a\n", whole, "/sys/fs/cgroup/memory/lab/a"},
		"the container's own":         {"4:memory:/kubepods/pod1/c\n", container, "/sys/fs/cgroup/memory"},
		"a group of the container":    {"4:memory:/kubepods/pod1/c/lab\n", container, "/sys/fs/cgroup/memory/lab"},
		"another container's":         {"4:memory:/kubepods/pod1/cd\n", container, ""},
		"one above the container":     {"4:memory:/kubepods\n", container, ""},
		"version 2":                   {"0::/lab/a\n", Hierarchy{Mount: "/sys/fs/cgroup", Version: 2}, "/sys/fs/cgroup/lab/a"},
		"of another hierarchy":        {"3:cpu:/lab\n", whole, ""},
		"a line that cannot be split": {"nonsense\n", whole, ""},
	} {
		if got := dirsOf(test.groups, []Hierarchy{test.in})[test.in.Mount]; got != test.want {
			t.Errorf("%s: %q, not %q", name, got, test.want)
		}
	}
}

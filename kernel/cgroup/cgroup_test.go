package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFindsBothVersions(t *testing.T) {
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
		"none": {"1 1 8:1 / / rw - ext4 /dev/sda rw\nnonsense\n", nil},
	} {
		if diff := cmp.Diff(test.want, Parse(test.mountinfo)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

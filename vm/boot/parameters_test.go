package boot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, p := range []Parameters{
		{},
		{Name: "vlab", Root: "root", Cgroup: CgroupHybrid, Modules: []string{"igbvf", "8021q"}, Mounts: []Mount{
			{Name: "modules", Folder: "/lib/modules", Disk: true, ReadOnly: true}, {Name: "work", Folder: "/work"},
		}},
	} {
		got, err := Parse("console=ttyS0 quiet " + strings.Join(p.Words(), " ") + " isolcpus=2-3\n")
		if diff := cmp.Diff(p, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"nines.cgroup=v3", "nines.mount=disk:x:/y", "nines.mount=disk:x:y:ro", "nines.mount=disk::/y:ro", "nines.mount=cd:x:/y:ro", "nines.mount=disk:x:/y:wo"} {
		if p, err := Parse(line); err == nil {
			t.Errorf("%s gives %+v", line, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("nines.mount=disk:m:/m:ro nines.cgroup=v2 nines.modules=a,b")
	f.Fuzz(func(t *testing.T, line string) {
		p, err := Parse(line)
		if err != nil {
			return
		}
		again, err := Parse(strings.Join(p.Words(), " "))
		if diff := cmp.Diff(p.Words(), again.Words()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

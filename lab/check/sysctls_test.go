package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompareSysctls(t *testing.T) {
	kept := map[string]string{"net.core.somaxconn": "77", "kernel.msgmax": "9000"}
	for _, c := range []struct {
		now  map[string]string
		want []string
	}{
		{kept, nil},
		{map[string]string{"net.core.somaxconn": "77"}, nil},
		{map[string]string{"net.core.somaxconn": "1", "kernel.msgmax": "9000"}, []string{"has the sysctl net.core.somaxconn=1, and 77 was set"}},
	} {
		if diff := cmp.Diff(c.want, compareSysctls(kept, c.now)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.now, diff)
		}
	}
}

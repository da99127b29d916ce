package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// inTheGuest runs a test with a root of control groups that gives two controllers to no group, and
// looks whether that is so again: its arguments are the test's.
const inTheGuest = `root=/sys/fs/cgroup/cgroup.subtree_control
echo '-io -hugetlb' >$root || exit
before=$(cat $root)
"$@" || exit
after=$(cat $root)
[ "$before" = "$after" ] || { echo "the root gave \"$before\", and gives now \"$after\""; exit 1; }`

// TestAClusterOnVersion2 runs TestACluster on a machine whose control groups are of version 2
// alone, the virtual laboratory: what holds with one version holds with the other.
func TestAClusterOnVersion2(t *testing.T) {
	labtest.LongForm(t)
	folder := programs(t)
	nines := filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines")
	_, err := os.Stat(nines)
	labtest.Require(t, "nines in NINES_LIBEXEC (make build)", err == nil)
	runc, err := exec.LookPath("runc")
	labtest.Require(t, "runc (make setup-cluster)", err == nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Two nodes with all that they write are in its memory.
	cmd := exec.CommandContext(t.Context(), nines, "vlab", "exec", "--cgroup", "v2", "--memory", "4096",
		"--copy", folder, "--copy", runc, "--copy", self,
		"--env", local.FolderVariable+"="+folder, "--env", "NINES_LIBEXEC=/opt/nines/bin", "--env", "NINES_REQUIRE=all",
		"--", "sh", "-c", inTheGuest, "sh", self, "-test.v", "-test.run", "^TestACluster$", "-test.timeout", "50m")
	out, err := cmd.CombinedOutput()
	if exitCode(err) == exit.Lacks {
		labtest.Require(t, string(out), false)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestACluster ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

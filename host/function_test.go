package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/pci"
)

// port is a machine with a port that has a VF and the host's default route.
type port struct{ dirTree }

func (port) VFSettings(string) ([]VFSettings, error) {
	return []VFSettings{{Index: 0, MAC: "3c:fd:fe:01:02:04", VLAN: 401}}, nil
}

func newPort(t *testing.T) Tree {
	t.Helper()
	p := port{dirTree{files.Dir(t.TempDir())}}
	const address = "/sys/bus/pci/devices/0000:01:00.0/"
	for path, text := range map[string]string{
		address + "class": "0x020000", address + "sriov_numvfs": "1", address + "sriov_totalvfs": "7", address + "net/p0/address": "",
		"/sys/class/net/p0/address": "3c:fd:fe:01:02:03", "/sys/class/net/p0/flags": "0x1003",
		"/proc/net/route": "Iface\tDestination\tGateway\np0\t00000000\t0102000A\np0\t0002000A\t00000000",
	} {
		if err := os.MkdirAll(filepath.Dir(p.Path(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.Path(path), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../0000:02:10.0", p.Path(address+"virtfn0")); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFunctionsReplay: a recording gives the same functions, without the host's IP
// addresses and without the second half of the cards' MACs.
func TestFunctionsReplay(t *testing.T) {
	r := &recorder{from: newPort(t), to: &Recording{Files: map[string]string{}, Dirs: map[string][]string{}, Links: map[string]string{},
		Exist: map[string]bool{}, VirtualFunctions: map[string][]VFSettings{}}}
	live := pci.ReadFunctions(r)
	if len(live) != 1 || len(live[0].VFs) != 1 || !live[0].Uplink {
		t.Fatalf("read %s", asJSON(t, live))
	}
	if got, want := string(asJSON(t, pci.ReadFunctions(r.to))), string(asJSON(t, live)); got != want {
		t.Errorf("replayed:\n%s\nlive:\n%s", got, want)
	}
	if text := string(asJSON(t, r.to)); strings.Contains(text, "0102000A") || strings.Contains(text, "0002000A") || strings.Contains(text, "01:02:0") {
		t.Errorf("the recording names the host's network:\n%s", text)
	}
}

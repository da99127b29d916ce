package traces

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/test/labtest"
)

// volatile are words of ip link that change with use and cannot be restored: the qdisc that a
// device gets when it is first set up, the index of a device that was made again, and the permanent
// address that a VF gets at random when its driver starts.
var volatile = regexp.MustCompile(`qdisc \w+ |(?m:^\d+: )|permaddr [0-9a-f:]+ `)

// An interface that was set down shows its old state for up to a second.
var (
	linkUp    = regexp.MustCompile(`[<,]UP[,>]`)
	linkState = regexp.MustCompile(`state \w+ `)
)

// CardLines is everything that a lab may change on network cards, as text.
type CardLines []string

// settling is how long a driver may still change things afterwards. The kernel checks links once a
// second (net/core/link_watch.c), and a virtual function that has missed a message of its port
// resets itself 10 s after its last reset (igbvf_has_link in
// drivers/net/ethernet/intel/igbvf/netdev.c).
const settling = 30 * time.Second

// Changes are the lines that differ now; "" if none do.
func (c CardLines) Changes(t testing.TB) string {
	t.Helper()
	for deadline := time.Now().Add(settling); ; time.Sleep(100 * time.Millisecond) {
		if diff := cmp.Diff(c, Cards(t)); diff == "" || time.Now().After(deadline) {
			return diff
		}
	}
}

// Cards are the cards as they are now, with the settings of the laboratory's ports.
func Cards(t testing.TB) CardLines {
	t.Helper()
	var b strings.Builder
	names, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // by name, as the kernel orders them by when they were made
		text := volatile.ReplaceAllString(labtest.Sh(t, "ip", "-details", "link", "show", "dev", name.Name()), "")
		if !linkUp.MatchString(text) {
			text = linkState.ReplaceAllString(text, "")
		}
		b.WriteString(text)
	}
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range devices {
		class, _ := os.ReadFile(dir + "/class")
		if !bytes.HasPrefix(class, []byte("0x02")) {
			continue
		}
		driver, _ := os.Readlink(dir + "/driver")
		override, _ := os.ReadFile(dir + "/driver_override")
		vfs, _ := os.ReadFile(dir + "/sriov_numvfs")
		fmt.Fprintf(&b, "%s driver %s override %s VFs %s\n", filepath.Base(dir), filepath.Base(driver), strings.TrimSpace(string(override)), strings.TrimSpace(string(vfs)))
	}
	for _, port := range []string{labtest.LeftPort, labtest.RightPort} {
		files, err := filepath.Glob("/proc/sys/net/ipv[46]/*/" + port + "/*")
		if err != nil || len(files) < 50 {
			t.Fatalf("%s has only the settings %v, %v", port, files, err)
		}
		for _, file := range files {
			text, _ := os.ReadFile(file) // an unset secret cannot be read
			fmt.Fprintf(&b, "%s %s\n", file, strings.TrimSpace(string(text)))
		}
	}
	return strings.Split(b.String(), "\n")
}

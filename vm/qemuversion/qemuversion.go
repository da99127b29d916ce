// Package qemuversion says which versions of QEMU nines can use.
package qemuversion

import (
	"fmt"
	"regexp"
	"strconv"
)

// Oldest is the oldest version that works: igb came with 8.0, and x2APIC for translated guests with 9.0
// (wiki.qemu.org/ChangeLog/9.0). Debian 12 has 7.2, which ends by a segmentation fault with a switch's port.
const Oldest = "9.0"

// Remedy says how to get such a version.
const Remedy = "install qemu-system-x86 " + Oldest + " or newer (on Debian 12 from its backports; in a checkout: make setup-vm)"

var line = regexp.MustCompile(`(?m)^QEMU emulator version ((\d+)\.\d+[^ \n]*)`)

// Of reads the version from what 'qemu-system-x86_64 --version' prints, and whether it works here.
func Of(output string) (version string, works bool, err error) {
	found := line.FindStringSubmatch(output)
	if found == nil {
		return "", false, fmt.Errorf("no version of QEMU in %.80q", output)
	}
	major, err := strconv.Atoi(found[2])
	return found[1], major >= 9, err
}

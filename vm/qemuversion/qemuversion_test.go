package qemuversion_test

import (
	"testing"

	"nines.dev/nines/vm/qemuversion"
)

func TestOf(t *testing.T) {
	for output, want := range map[string]struct {
		version string
		works   bool
	}{
		"QEMU emulator version 7.2.11 (Debian 1:7.2+dfsg-7+deb12u7)\nCopyright (c) 2003-2022 …\n":    {"7.2.11", false},
		"QEMU emulator version 8.2.2 (Debian 1:8.2.2+ds-0ubuntu1.2)\n":                               {"8.2.2", false},
		"QEMU emulator version 9.0.0\n":                                                              {"9.0.0", true},
		"warning: something\nQEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\n…": {"10.0.2", true},
		"QEMU emulator version 11.0.50 (v11.0.0-5-gabc)\n":                                           {"11.0.50", true},
	} {
		if version, works, err := qemuversion.Of(output); version != want.version || works != want.works || err != nil {
			t.Errorf("%.40q: %q, %v, %v", output, version, works, err)
		}
	}
	for _, output := range []string{"", "qemu-system-x86_64: error while loading shared libraries", "QEMU emulator version unknown"} {
		if version, works, err := qemuversion.Of(output); err == nil || works {
			t.Errorf("%q: %q, %v", output, version, works)
		}
	}
}

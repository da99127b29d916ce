package trace

import (
	"maps"
	"strings"
	"testing"
)

func TestSymbolsAreFoundByTheirAddress(t *testing.T) {
	s, err := parseSymbols(strings.NewReader("ffffffff81000000 T _text\nffffffff81001000 t tick_nohz_handler\nffffffffc0000010 t igb_poll\t[igb]\n" +
		"ffffffff82000000 D jiffies\n0000000000000000 T hidden\n"))
	if err != nil || len(s) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	for address, want := range map[uint64]string{0xffffffff81001000: "tick_nohz_handler", 0xffffffffc0000010: "igb_poll", 0xffffffff81001001: "", 0: ""} {
		if got := s.at(address); got != want {
			t.Errorf("%#x is %q, want %q", address, got, want)
		}
	}
	if _, err := parseSymbols(strings.NewReader("zz T x\n")); err == nil {
		t.Error("no number was taken for an address")
	}
}

func TestActionsOfInterrupts(t *testing.T) {
	got, err := parseInterrupts(strings.NewReader(`           CPU0       CPU1
  4:          0        812   IO-APIC   4-edge      ttyS0
 24:          0          0   PCI-MSIX-0000:00:03.0   0-edge      virtio0-config
 25:      12345          0   PCI-MSI 524289-edge      eth0-TxRx-0, vfio
  9:          0          0   IO-APIC   9-fasteoi   acpi
 30:          0          0   hidden
NMI:          0          0   Non-maskable interrupts
LOC:     123456     123456   Local timer interrupts
`))
	want := map[uint64]string{4: "ttyS0", 24: "virtio0-config", 25: "eth0-TxRx-0, vfio", 9: "acpi"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStatusOfAThread(t *testing.T) {
	got, ok := parseStatus("Name:\tnines-measure\nTgid:\t400\nPid:\t405\nNSpid:\t405\t12\nCpus_allowed:\t2\nCpus_allowed_list:\t1\n")
	if want := (Thread{PID: 400, TID: 405, Name: "nines-measure", CPU: 1, inner: 12}); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, _ := parseStatus("Pid:\t7\nCpus_allowed_list:\t0-3\n"); got.CPU != -1 {
		t.Errorf("%+v is pinned", got)
	}
	if _, ok := parseStatus("rubbish"); ok {
		t.Error("rubbish was taken")
	}
}

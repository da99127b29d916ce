package node

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheReasonAboveAStack: what programs print below the reason for their end does not hide it.
func TestTheReasonAboveAStack(t *testing.T) {
	for name, text := range map[string]string{
		"Snabb": "/s/switch.lua:1: no such link\n\r\nStack Traceback\n===============\n" +
			"(1) Lua function '?' at file 'core/main.lua:172' (best guess)\r\n\tLocal variables:\r\n\t (*temporary) = string\n" +
			"(2) global C function 'error'\r\n(10)  C function 'require'\r\n\n" +
			"file not found: core/main.lua: No such file or directory\n",
		"VPP": "/s/switch.lua:1: no such link\n#0  0x00007f0186f24ef3 raise + 0x8b\n     from /lib/libc.so.6\n" +
			"#1  0x00007f0186f0e537 abort + 0x123\n     from /lib/libc.so.6\n#10 0x0000000000000000 0x0\n",
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LastLines(log); got != "/s/switch.lua:1: no such link" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheLastLinesOfALog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("1\n2\n3\n\n4\n5\n6\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LastLines(log); got != "2; 3; 4; 5; 6" {
		t.Errorf("got %q", got)
	}
	if got := LastLines(log + "x"); got != "" {
		t.Errorf("of no file: %q", got)
	}
}

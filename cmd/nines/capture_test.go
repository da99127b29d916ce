package main

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

func TestCaptureRefuses(t *testing.T) {
	for _, c := range []struct {
		arguments, say string
	}{
		{"", "name one interface"},
		{"a:x b:x c:x", "got 3"},
		{"in", `"in" is not NODE:INTERFACE`},
		{"a:x b:x", "2 interfaces and 0 files"},
		{"a:x b:x -w one.pcap", "2 interfaces and 1 files"},
		{"a:x -w one.pcap -w two.pcap", "1 interfaces and 2 files"},
		{"a:x b:x -w same.pcap -w same.pcap", "both interfaces would be written to same.pcap"},
		{"a:x --count -1", "cannot be negative"},
		{"a:x --wait -1s", "cannot be negative"},
	} {
		code, _, stderr := call(append([]string{"capture"}, strings.Fields(c.arguments)...)...)
		if code != exit.Wrong || !strings.Contains(stderr, c.say) {
			t.Errorf("capture %s: exit code %d, %q; want %d and %q", c.arguments, code, stderr, exit.Wrong, c.say)
		}
	}
}

// TestCaptureIntoNoFolder: the call is wrong, and the error says what to do.
func TestCaptureIntoNoFolder(t *testing.T) {
	_, err := captureCall{files: []string{"/nonexistent/x.pcap"}}.sink(0, nil)
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "/nonexistent/x.pcap") || !strings.Contains(err.Error(), "name a file in a writable folder") {
		t.Errorf("the error is %v", err)
	}
}

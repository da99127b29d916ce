package client

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
)

// fakeEngine answers each command line with the given lines. Package enginetest tests the real
// engine.
func fakeEngine(t *testing.T, answers map[string][]string) *Client {
	t.Helper()
	commandsRead, commandsWrite := io.Pipe()
	answersRead, answersWrite := io.Pipe()
	go func() {
		defer answersWrite.Close()
		lines := bufio.NewScanner(commandsRead)
		for lines.Scan() {
			for prefix, out := range answers {
				if strings.HasPrefix(lines.Text(), prefix) {
					for _, line := range out {
						if _, err := io.WriteString(answersWrite, line+"\n"); err != nil {
							return
						}
					}
				}
			}
		}
	}()
	t.Cleanup(func() { commandsWrite.Close() })
	return New(answersRead, commandsWrite, commandsWrite)
}

func TestHelloRefusesAnotherProtocol(t *testing.T) {
	c := fakeEngine(t, map[string][]string{`{"cmd":"hello"}`: {`{"reply":"hello","ok":true,"protocol":99}`}})
	if _, err := c.Hello(); err == nil || !strings.Contains(err.Error(), "protocol 99") {
		t.Fatalf("Hello() = %v, want a refusal of protocol 99", err)
	}
}

func TestRefusalIsAnError(t *testing.T) {
	c := fakeEngine(t, map[string][]string{`{"cmd":"open","port":"tx"`: {`{"reply":"open","ok":false,"error":"no interface tx","errno":"ENODEV"}`}})
	_, err := c.Open(Port{Name: "tx", Backend: "udp"})
	var refused *Error
	if !errors.As(err, &refused) || refused.Errno != "ENODEV" || refused.Command != "open" {
		t.Fatalf("Open() = %v, want an open refusal with ENODEV", err)
	}
}

func TestTrialDeliversEventsAndSkipsOtherAnswers(t *testing.T) {
	c := fakeEngine(t, map[string][]string{`{"cmd":"trial","role":"loop"`: {
		`{"event":"started","start_ns":5,"tid":7,"notices":{"address":140737488351232,"capacity":64}}`,
		`{"reply":"end","ok":true}`,
		`{"event":"progress","second":1,"offered":10,"sent":9,"received":8}`,
		`{"reply":"trial","ok":true,"streams":[{"name":"a","tx_packets":6,"rx_packets":6},{"name":"b","tx_packets":4,"rx_packets":3,"latency":{"count":3,"min":3,"max":3,"sum":9}}],"latency":{"count":9,"min":1,"max":3,"sum":18},"latency_blocks":{"length_ns":5,"count":1},"bulk":"` + base64.StdEncoding.EncodeToString(goodBulk()) + `"}`,
	}})
	var startedTID int
	var notices *Notices
	var seconds []Progress
	result, err := c.Trial(Trial{Role: "loop"}, Events{
		Started:  func(s Started) { startedTID, notices = s.TID, s.Notices },
		Progress: func(p Progress) { seconds = append(seconds, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if notices == nil || notices.Address != 140737488351232 || notices.Capacity != 64 {
		t.Errorf("notices: %+v", notices)
	}
	if startedTID != 7 || len(seconds) != 1 || seconds[0].Received != 8 {
		t.Errorf("events: tid %d, progress %v", startedTID, seconds)
	}
	if result.TxPackets != 10 || result.RxPackets != 9 || result.Latency.Counts[1] != [2]int64{3, 5} || result.Streams[1].TxPackets != 4 || result.Streams[1].Latency.Count != 3 || result.Outliers[0] != [11]int64{7, 1, 3, 2, 1, -10, -9, -7, 4, 0, -1} {
		t.Errorf("result = %+v", result)
	}
}

func TestAnEngineThatDiesIsGone(t *testing.T) {
	read, write := io.Pipe()
	write.Close()
	c := New(read, io.Discard, io.NopCloser(nil))
	if _, err := c.Stats(); !errors.Is(err, ErrGone) {
		t.Fatalf("Stats() = %v, want ErrGone", err)
	}
}

func TestGarbageIsQuoted(t *testing.T) {
	c := fakeEngine(t, map[string][]string{`{"cmd":"stats"}`: {"Segmentation fault"}})
	if _, err := c.Stats(); err == nil || !strings.Contains(err.Error(), "Segmentation fault") {
		t.Fatalf("Stats() = %v, want the garbage quoted", err)
	}
}

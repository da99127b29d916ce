package vm

import (
	"bufio"
	"io"
	"os/exec"
	"testing"

	"nines.dev/nines/test/events"
)

// relay hands what is written to Go's reader of tests, and what that finds to show.
// wait ends it and returns the last of what was written.
func relay(t *testing.T, repository string, show func(events.Result)) (to io.Writer, wait func() string) {
	t.Helper()
	reader := exec.Command("hack/go", "tool", "test2json", "-t")
	reader.Dir = repository
	input, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	results, read := make(chan events.Result), make(chan error, 1)
	go func() {
		defer close(results)
		e := events.Reader{Tell: func(r events.Result) { results <- r }}
		lines := bufio.NewReader(output)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				read <- nil
				return
			}
			if err := e.Read(line); err != nil {
				read <- err
				_, _ = io.Copy(io.Discard, output)
				return
			}
		}
	}()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for r := range results {
			show(r)
		}
	}()
	last := &tail{}
	return io.MultiWriter(input, last), func() string {
		_ = input.Close()
		<-shown
		if err := <-read; err != nil {
			t.Error(err)
		}
		if err := reader.Wait(); err != nil {
			t.Errorf("go tool test2json: %v", err)
		}
		return last.String()
	}
}

// tail keeps the last of what is written.
type tail struct{ data []byte }

const tailBytes = 16 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.data = append(l.data, p...)
	l.data = l.data[max(0, len(l.data)-tailBytes):]
	return len(p), nil
}

func (l *tail) String() string { return string(l.data) }

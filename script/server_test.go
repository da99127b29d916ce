package script

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/script/wire"
)

// onHost starts scripts as processes of the host: nodes without a network. Package measure has the
// tests with real nodes and the real command.
type onHost struct{ sockets map[string]string }

type hostProcess struct{ *exec.Cmd }

func (p hostProcess) Run(out, complaints *Output) (Ending, func()) {
	p.Stdout, p.Stderr = out, complaints
	err, rest := p.Cmd.Run(), func() {}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if code := ended.ExitCode(); code >= 0 {
			return Ending{Code: code}, rest
		}
		return Ending{Signal: 9}, rest
	}
	return Ending{Err: err}, rest
}

func (hostProcess) Release() {}

func (h onHost) Script(ctx context.Context, part Part) (Process, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", part.Text)
	cmd.Env = append(os.Environ(), wire.Environment+"="+h.sockets[part.Node])
	return hostProcess{cmd}, nil
}

func (h onHost) Command(ctx context.Context, _ string, argv []string, dir string, env []string) (Process, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	return hostProcess{cmd}, nil
}

// stage runs parts while do speaks to the server, and returns the outcomes by node.
type stage struct {
	t       *testing.T
	sockets map[string]string
	dir     string
	ended   chan struct{}
	phase   *Phase
	got     map[string]Outcome
	cancel  context.CancelFunc
}

// stageLimit is how many bytes a node of a stage may leave.
const stageLimit = 1 << 20

func newStage(t *testing.T, timeout time.Duration, texts map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, sockets: map[string]string{}, dir: t.TempDir(), ended: make(chan struct{}), got: map[string]Outcome{}}
	var parts []Part
	for node, text := range texts {
		s.sockets[node] = filepath.Join(t.TempDir(), "socket")
		parts = append(parts, Part{Node: node, Kind: "experiment", Text: text})
	}
	server, err := NewServer(s.sockets)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	phase, err := NewPhase(PhaseOptions{
		Parts: parts, Variables: fileVariables().Trial(nil), Starter: onHost{s.sockets}, Timeout: timeout, Into: root, Limit: stageLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.phase = cancel, phase
	t.Cleanup(func() {
		cancel()
		<-s.ended
		if err := errors.Join(server.Close(), root.Close()); err != nil {
			t.Error(err)
		}
	})
	started := make(chan struct{})
	go func() {
		defer close(s.ended)
		close(started)
		outcomes, err := server.Run(ctx, phase)
		if err != nil {
			t.Error(err)
		}
		for _, o := range outcomes {
			s.got[o.Node] = o
		}
	}()
	<-started
	return s
}

// ask sends a request as a node's script does.
func (s *stage) ask(node string, r wire.Request, body string) (wire.Answer, error) {
	conn, err := net.Dial("unix", s.sockets[node])
	if err != nil {
		return wire.Answer{}, err
	}
	defer func() { _ = conn.Close() }()
	text, err := json.Marshal(r)
	if err != nil {
		return wire.Answer{}, err
	}
	if _, err := conn.Write([]byte(string(text) + "\n" + body)); err != nil {
		return wire.Answer{}, err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return wire.Answer{}, err
	}
	var answer wire.Answer
	return answer, json.Unmarshal([]byte(line), &answer)
}

// asked is ask until the phase is in force.
func (s *stage) asked(node string, r wire.Request, body string) wire.Answer {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		answer, err := s.ask(node, r, body)
		if err != nil {
			s.t.Fatal(err)
		}
		if answer.Error != errNoPhase.Error() {
			return answer
		}
	}
	s.t.Fatal("the phase does not begin")
	return wire.Answer{}
}

func (s *stage) kept(path ...string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{s.dir}, path...)...))
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// TestAPeersEndEndsTheBarrier: b's script would wait for a year, and a waits for b at a barrier.
func TestAPeersEndEndsTheBarrier(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	const long = "sleep 1000"
	s := newStage(t, time.Hour, map[string]string{
		"a": "exec " + long, "b": "until [ -e " + gate + " ]; do sleep 0.01; done; echo no device >&2; exit 3",
	})
	s.asked("a", wire.Request{Verb: wire.Get, Key: "hostname"}, "")
	answer := make(chan wire.Answer, 1)
	go func() {
		got, err := s.ask("a", wire.Request{Verb: wire.Sync, Name: "started"}, "")
		if err != nil {
			t.Error(err)
		}
		answer <- got
	}()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got.Error, "node b, whose script ended with status 3: no device") {
		t.Errorf("the barrier says %q", got.Error)
	}
	s.cancel()
	<-s.ended
	if o := s.got["b"]; o.Status != "3" || o.How != "ended with status 3: no device" {
		t.Errorf("b's outcome is %+v", o)
	}
	if o := s.got["a"]; o.Status != "interrupted" {
		t.Errorf("a's outcome is %+v", o)
	}
	if got := s.kept("b", StderrFile) + s.kept("b", StatusFile); got != "no device\n3\n" {
		t.Errorf("b's folder has %q", got)
	}
}

func TestAScriptThatTakesTooLongIsEnded(t *testing.T) {
	s := newStage(t, 50*time.Millisecond, map[string]string{"a": "exec sleep 1000"})
	<-s.ended
	if o := s.got["a"]; o.Status != "timeout" || !strings.Contains(o.How, "50ms") {
		t.Errorf("the outcome is %+v", o)
	}
}

func TestRequests(t *testing.T) {
	s := newStage(t, time.Hour, map[string]string{"a": "exec sleep 1000", "b": "exec sleep 1000"})
	dir := t.TempDir()
	for _, test := range []struct {
		node    string
		request wire.Request
		body    string
		value   string
		wrong   string
	}{
		{node: "a", request: wire.Request{Verb: wire.Get, Key: "hostname"}, value: "a"},
		{node: "b", request: wire.Request{Verb: wire.Get, Key: "hostname"}, value: "b"},
		{node: "a", request: wire.Request{Verb: wire.Set, Key: "port", Value: "7", Scope: wire.ScopeGlobal}},
		{node: "b", request: wire.Request{Verb: wire.Get, Key: "port"}, value: "7"},
		{node: "a", request: wire.Request{Verb: wire.Upload, Name: "x.csv", Bytes: 3}, body: "1,2"},
		{node: "a", request: wire.Request{Verb: wire.Upload, Name: "../x", Bytes: 3}, body: "1,2", wrong: "upload's name"},
		{node: "a", request: wire.Request{Verb: wire.Upload, Name: "y", Bytes: -1}, wrong: "no size"},
		{node: "a", request: wire.Request{Verb: wire.Upload, Name: "y", Bytes: 1 << 40}, wrong: "upload_limit"},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "../n", Argv: []string{"true"}}, wrong: "command's name"},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "n"}, wrong: "no command"},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "n", Dir: dir, Argv: []string{"sh", "-c", "echo $WHAT; pwd; exit 4"}, Env: []string{"WHAT=env"}}},
		{node: "b", request: wire.Request{Verb: wire.Wait, Name: "n"}, wrong: "command n does not exist"},
		{node: "a", request: wire.Request{Verb: wire.Wait, Name: "n"}, value: "4"},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "long", Argv: []string{"sleep", "1000"}}},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "long", Argv: []string{"sleep", "1000"}}, wrong: "is already running"},
		{node: "a", request: wire.Request{Verb: wire.Kill, Name: "long"}, value: "killed"},
		{node: "a", request: wire.Request{Verb: wire.Run, Name: "left", Argv: []string{"sleep", "1000"}}},
		{node: "a", request: wire.Request{Verb: "juggle"}, wrong: "another version"},
	} {
		answer := s.asked(test.node, test.request, test.body)
		if answer.Value != test.value || (answer.Error != "") != (test.wrong != "") || !strings.Contains(answer.Error, test.wrong) {
			t.Errorf("%s asks %+v: %+v, want %q, wrong %q", test.node, test.request, answer, test.value, test.wrong)
		}
	}
	s.cancel()
	<-s.ended // with it the command that a left
	if got, want := strings.Join(s.got["a"].Uploads, " "), "left.status left.stderr left.stdout long.status long.stderr long.stdout n.status n.stderr n.stdout x.csv"; got != want {
		t.Errorf("a's uploads are %s, want %s", got, want)
	}
	if got := s.kept("a", UploadsFolder, "n.stdout"); got != "env\n"+dir+"\n" {
		t.Errorf("the command's output is %q", got)
	}
	if got := s.kept("a", UploadsFolder, "left.status"); got != "killed\n" {
		t.Errorf("the command that was left ended as %q", got)
	}
}

// TestAPhaseThatHasEndedTakesNothing: an upload that its caller does not finish ends with the
// phase and leaves nothing; later requests are refused.
func TestAPhaseThatHasEndedTakesNothing(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	s := newStage(t, time.Hour, map[string]string{"a": "until [ -e " + gate + " ]; do sleep 0.01; done"})
	s.asked("a", wire.Request{Verb: wire.Get, Key: "hostname"}, "")
	conn, err := net.Dial("unix", s.sockets["a"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(`{"verb":"` + wire.Upload + `","name":"x.csv","bytes":10}` + "\n1,2")); err != nil {
		t.Fatal(err)
	}
	uploads := filepath.Join(s.dir, "a", UploadsFolder)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if files, err := os.ReadDir(uploads); err != nil || len(files) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the upload does not begin")
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if files, err := os.ReadDir(uploads); err != nil || len(files) > 0 {
		t.Errorf("the upload has left %v, %v", files, err)
	}
	for _, r := range []wire.Request{
		{Verb: wire.Set, Key: "late", Value: "1"}, {Verb: wire.Run, Name: "late", Argv: []string{"sleep", "1000"}},
		{Verb: wire.Get, Key: "hostname"},
	} {
		if _, err := s.phase.answer("a", r, conn, nil); !errors.Is(err, errNoPhase) {
			t.Errorf("after the end %+v is answered: %v", r, err)
		}
	}
	s.phase.endCommands()
}

// TestTheOutputOfACommandIsNotCutInSilence: also not of a command whose name another has then.
func TestTheOutputOfACommandIsNotCutInSilence(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	script := "until [ -e " + gate + " ]; do sleep 0.01; done"
	s := newStage(t, time.Hour, map[string]string{"a": script, "b": script})
	for _, argv := range [][]string{{"head", "-c", strconv.Itoa(stageLimit + 1), "/dev/zero"}, {"true"}} {
		s.asked("a", wire.Request{Verb: wire.Run, Name: "much", Argv: argv}, "")
		if answer := s.asked("a", wire.Request{Verb: wire.Wait, Name: "much"}, ""); answer.Value != "0" {
			t.Fatalf("the command ended as %+v", answer)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if !s.got["a"].Cut || s.got["b"].Cut {
		t.Errorf("what a and b left was cut: %v, %v", s.got["a"].Cut, s.got["b"].Cut)
	}
}

// TestCommandsAndUploadsShareALimit: the names of both are in the result's summary, so a script cannot
// have any number of them. What replaces others has room.
func TestCommandsAndUploadsShareALimit(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	s := newStage(t, time.Hour, map[string]string{"a": "until [ -e " + gate + " ]; do sleep 0.01; done"})
	run := func(name, refused string) {
		t.Helper()
		answer := s.asked("a", wire.Request{Verb: wire.Run, Name: name, Argv: []string{"true"}}, "")
		if answer.Error == "" {
			answer = s.asked("a", wire.Request{Verb: wire.Wait, Name: name}, "")
		}
		if !strings.Contains(answer.Error, refused) || (refused == "") != (answer.Error == "") {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	run("first", "")
	folder := s.phase.folders["a"]
	for i := range mostUploads - 3 - 5 {
		folder.named(strconv.Itoa(i))
	}
	run("second", "")
	run("third", "already has 9998 uploads, including the output of its commands; at most 10000 are allowed")
	run("first", "")
	for _, name := range []string{"x", "y", "x"} {
		if err := folder.Upload(name, 1, strings.NewReader("x")); err != nil {
			t.Errorf("upload %s: %v", name, err)
		}
	}
	if err := folder.Upload("z", 1, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "already has 10000 uploads") {
		t.Errorf("one upload too many: %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if n := len(s.got["a"].Uploads); n != mostUploads {
		t.Errorf("%d uploads", n)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "a", UploadsFolder, "third."+StdoutFile)); !os.IsNotExist(err) {
		t.Errorf("the command that was refused has left a file: %v", err)
	}
}

// TestOutputsThatCannotBeKeptFailThePhase: that of a command, whose status has no file, and that of a
// script, whose peers do not wait for it.
func TestOutputsThatCannotBeKeptFailThePhase(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", StdoutFile), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	phase, err := NewPhase(PhaseOptions{
		Parts:     []Part{{Node: "a", Text: "true"}, {Node: "b", Text: "exec sleep 1000"}},
		Variables: fileVariables().Trial(nil), Starter: onHost{}, Timeout: time.Hour, Into: root, Limit: stageLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b", UploadsFolder, "c."+StatusFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := phase.start("b", "c", []string{"true"}, "", nil); err != nil {
		t.Fatal(err)
	}
	barrier := phase.barriers.Arrive("b", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := phase.Run(ctx)
		failed <- err
	}()
	select {
	case err := <-barrier:
		if err == nil || !strings.Contains(err.Error(), "node a, whose script could not be run") {
			t.Errorf("the barrier ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("b waits for a")
	}
	cancel()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "node b: its command c") || !strings.Contains(err.Error(), StdoutFile) {
		t.Errorf("the phase ended with %v", err)
	}
}

// TestNonsenseIsAnswered: what is no request neither stops nor blocks the server.
func TestNonsenseIsAnswered(t *testing.T) {
	s := newStage(t, time.Hour, map[string]string{"a": "exec sleep 1000"})
	s.asked("a", wire.Request{Verb: wire.Get, Key: "hostname"}, "")
	for _, text := range []string{"\n", "{}\n", "[1\n", "null\n", strings.Repeat("x", wire.LongestLine+8192)} {
		conn, err := net.Dial("unix", s.sockets["a"])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // it may end in the middle
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if line != "" && !strings.Contains(line, `"error"`) {
			t.Errorf("%.20q is answered by %q", text, line)
		}
		_ = conn.Close()
	}
	if answer := s.asked("a", wire.Request{Verb: wire.Get, Key: "hostname"}, ""); answer.Value != "a" {
		t.Errorf("afterwards it answers %+v", answer)
	}
}

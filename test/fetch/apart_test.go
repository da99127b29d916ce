package fetch

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// apart is a mount namespace in which programs find a host of their own: what they write below /etc, /run,
// /var/lib and /dev/shm only they see, and it is gone with the test.
type apart struct {
	t      *testing.T
	holder *exec.Cmd
}

// makeApart mounts what is the namespace's own; $1 is a folder.
const makeApart = `set -e
for name in etc run; do
	mkdir -p "$1/$name" "$1/$name-work"
	mount -t overlay overlay -o "lowerdir=/$name,upperdir=$1/$name,workdir=$1/$name-work" "/$name"
done
mount -t tmpfs apart /var/lib
mount -t tmpfs apart /dev/shm
echo there
exec cat`

func newApart(t *testing.T) *apart {
	t.Helper()
	a := &apart{t: t}
	a.holder = exec.Command("unshare", "--mount", "--propagation", "private", "--", "sh", "-c", makeApart, "sh", t.TempDir())
	in, err := a.holder.StdinPipe() // it ends with this process at the latest
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	a.holder.Stderr = &said
	if err := a.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = a.holder.Wait()
	})
	if n, err := out.Read(make([]byte, 16)); err != nil || n == 0 {
		_ = a.holder.Wait()
		t.Fatalf("no host apart: %v: %s", err, said.String())
	}
	return a
}

// command runs a program there.
func (a *apart) command(argv ...string) *exec.Cmd {
	enter := "--mount=/proc/" + strconv.Itoa(a.holder.Process.Pid) + "/ns/mnt"
	return exec.Command("nsenter", append([]string{enter, "--"}, argv...)...)
}

// must runs a program there, and returns what it prints.
func (a *apart) must(argv ...string) string {
	a.t.Helper()
	out, err := a.command(argv...).CombinedOutput()
	if err != nil {
		a.t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file there.
func (a *apart) write(path, text string) {
	a.t.Helper()
	cmd := a.command("sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("write %s: %v: %s", path, err, out)
	}
}

// serve starts a daemon there, and waits until ready succeeds. The daemon ends with the test.
func (a *apart) serve(ready []string, argv ...string) {
	a.t.Helper()
	cmd := a.command(append([]string{"sh", "-c", `"$@" </dev/null & cat; kill $!; wait $!`, "sh"}, argv...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		if a.t.Failed() {
			a.t.Logf("%s said: %s", argv[0], said.String()[max(0, said.Len()-2000):])
		}
	})
	labtest.Eventually(a.t, argv[0]+" answers", func() bool { return a.command(ready...).Run() == nil })
}

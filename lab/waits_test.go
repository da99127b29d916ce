package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// bindsOnce notes what is there when it starts, and becomes a server that binds to its address once: it ends where the
// address is not there.
const bindsOnce = `ip addr show x >/srv/addr; ip link show x >/srv/link; ip route >/srv/route; cat /proc/sys/net/ipv4/ip_forward >/srv/forward; exec httpd -f -p 10.9.0.2:80`

// TestAnImageStartsWhenItsNetworkStands: its addresses, its routes, its neighbours and its sysctls are there, for each
// driver, in a new lab, after a restart and beside a new link.
//
//	a:x ──veth── b:x    b is a container whose first process serves 10.9.0.2
func TestAnImageStartsWhenItsNetworkStands(t *testing.T) {
	for _, driver := range labs.OCIDrivers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			image := labs.OCIImage(t, v1.Config{Cmd: []string{"sh", "-c", bindsOnce}})
			text := fmt.Sprintf(`
name: tbwaits-%s
topology:
  nodes:
    a: {addresses: {x: [10.9.0.1/24]}}
    b:
      runtime: oci
      driver: %[1]s
      image: %q
      addresses: {x: [10.9.0.2/24]}
      routes: [{to: 10.8.0.0/16, via: 10.9.0.1}]
      sysctls: {net.ipv4.ip_forward: "1", kernel.msgmax: "9000"}
  links:
    - {name: pair, endpoints: ["a:x", "b:x"]}
`, driver, image)
			l := up(t, text)
			serves(t, l)
			if now := in(t, l, "b", "cat", "/proc/sys/kernel/msgmax"); now != "9000" {
				t.Errorf("kernel.msgmax is %s", now)
			}
			if err := l.Restart(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
				t.Fatal(err)
			}
			serves(t, l)
			// A link that is added with another command is there before the container starts.
			text = strings.Replace(text, "  links:\n", "  links:\n    - {name: more, endpoints: [\"a:y\", \"b:y\"]}\n", 1)
			text = strings.Replace(text, "      driver:", "      command: [sh, -c, \"ip link show y >/srv/more; "+bindsOnce+"\"]\n      driver:", 1)
			if _, err := l.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)}); err != nil {
				t.Fatal(err)
			}
			serves(t, l)
			if said := in(t, l, "b", "cat", "/srv/more"); !strings.Contains(said, "y") {
				t.Errorf("the new link was not there: %q", said)
			}
			downWithoutTrace(t, l)
		})
	}
}

// serves fails the test unless b has found its network, and serves a.
func serves(t *testing.T, l *Lab) {
	t.Helper()
	labtest.Eventually(t, "b serves its address", func() bool {
		cmd, err := l.Command(t.Context(), "a", []string{"bash", "-c", "exec 3<>/dev/tcp/10.9.0.2/80"}, running.ExecOptions{})
		return err == nil && cmd.Run() == nil || !l.Alive("b")
	})
	if !l.Alive("b") {
		said, _ := os.ReadFile(filepath.Join(l.State().Logs(), "b.container.log"))
		t.Fatalf("its first process has ended: %s", said)
	}
	for file, want := range map[string]string{"addr": "10.9.0.2/24", "link": "LOWER_UP", "route": "10.8.0.0/16", "forward": "1"} {
		if found := in(t, l, "b", "cat", "/srv/"+file); !strings.Contains(found, want) {
			t.Errorf("when it started, %s was %q, without %s", file, found, want)
		}
	}
}

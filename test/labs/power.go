package labs

import (
	"os"
	"path/filepath"
	"testing"
)

// Power has a node that is switched, between two others:
//
//	load:tx ──in, veth── dut:in ▸ forward ▸ dut:out ──out, bridge── far:rx
//
// ADDRESS is a loopback address of the test's own, so that its ports are free.
const Power = `
name: tbpower
topology:
  nodes:
    load: {}
    dut: {RUNTIME, memory: 256MiB, app: {kind: forward, backend: raw}}
    far: {}
  links:
    - {name: in, kind: veth, endpoints: ["load:tx", "dut:in"]}
    - {name: out, kind: bridge, endpoints: ["dut:out", "far:rx"]}
power: {protocols: [ipmi, redfish], address: ADDRESS, user: admin, password_file: PASSWORD}
`

// PowerPassword switches its nodes.
const PowerPassword = "correct-horse"

// PasswordFile is a file with it.
func PasswordFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(PowerPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

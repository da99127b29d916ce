package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// console is a client of IPMI or Redfish: the programs that operators use.
type console struct {
	t        *testing.T
	address  string
	password string // the file
	port     int
}

// call runs a client, with more patience than it has by itself, as the host may be busy, and returns what it prints and its exit code.
func (c console) call(program string, arguments ...string) (string, int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	// With these, Python's requests checks certificates even where its caller wants none checked.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "REQUESTS_CA_BUNDLE=") || strings.HasPrefix(variable, "CURL_CA_BUNDLE=")
	})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		c.t.Fatalf("%s %v: %v: %s", program, arguments, err, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (c console) ipmitool(suite int, arguments ...string) (string, int) {
	c.t.Helper()
	return c.call("ipmitool", append([]string{"-I", "lanplus", "-N", "10", "-C", fmt.Sprint(suite), "-H", c.address, "-p", fmt.Sprint(c.port), "-U", "admin", "-f", c.password}, arguments...)...)
}

func (c console) fence(program string, action string) (string, int) {
	c.t.Helper()
	arguments := []string{"--ip=" + c.address, "--username=admin", "--password-script=" + c.script(), "--action=" + action, "--power-wait=0", "--delay=0", "--power-timeout=120", "--shell-timeout=60", "--login-timeout=60"}
	if program == "fence_ipmilan" {
		arguments = append(arguments, fmt.Sprintf("--ipport=%d", c.port), "--lanplus", "--cipher=17", "--ipmitool-timeout=10")
	} else {
		arguments = append(arguments, "--ipport=8443", "--ssl-insecure", "--systems-uri=/redfish/v1/Systems/dut")
	}
	return c.call(program, arguments...)
}

// script prints the password, for fence agents.
func (c console) script() string {
	path := c.password + ".sh"
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat "+c.password+"\n"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c console) redfishtool(arguments ...string) (string, int) {
	c.t.Helper()
	return c.call("redfishtool", append([]string{"-r", c.address + ":8443", "-u", "admin", "-p", labs.PowerPassword, "-S", "Always", "-A", "Session", "-T", "60"}, arguments...)...)
}

// sushy is the client of OpenStack's Ironic, a library of Python's.
func (c console) sushy(call string) (string, int) {
	c.t.Helper()
	program := fmt.Sprintf(`
import sushy, sys
root = sushy.Sushy("https://%s:8443", username="admin", password=open("%s").readline().strip(), verify=False)
system = root.get_system("/redfish/v1/Systems/dut")
%s
`, c.address, c.password, call)
	return c.call("/usr/bin/python3", "-W", "ignore", "-c", program)
}

func (c console) ipmipower(what string) (string, int) {
	c.t.Helper()
	return c.call("ipmipower", "-h", fmt.Sprintf("%s:%d", c.address, c.port), "-u", "admin", "-p", labs.PowerPassword, "-D", "LAN_2_0", "-I", "17", "-l", "ADMIN", "--session-timeout=60000", "--retransmission-timeout=10000", "--"+what)
}

// needClient skips a test without one of the programs that operators use.
func needClient(t *testing.T, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	labtest.Require(t, program, err == nil)
}

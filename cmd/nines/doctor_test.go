package main

import (
	"encoding/json"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/doctor"
)

// TestDoctor: the exit code says whether the host is fit, the table and JSON agree, and a wrong
// call has its own code.
func TestDoctor(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		says string // on stdout, or on stderr if the call is wrong
	}{
		{[]string{"--host", hostFile("rt-xeon-6354")}, exit.Done, "verdict     fit for low latency: "},
		{[]string{"--host", hostFile("cloud-c6i-xlarge")}, exit.Failed, "verdict     not fit for low latency: "},
		{[]string{"--host", hostFile("epyc-7551p"), "--for", quickstartFile}, exit.Done, "the worst of 6 runs"},
		{[]string{"--host", hostFile("epyc-7551p"), "--for", quickstartFile}, exit.Done, "the experiment runs here, on a host that is not ideal for low latency: "},
		{[]string{"--host", hostFile("laptop-i7-1165g7"), "--for", quickstartFile}, exit.Lacks, "run it with sudo"},
		{[]string{"--host", hostFile("epyc-7551p"), "--for", quickstartFile, "--set", "isolation=isolated"}, exit.Lacks, "which came with 6.1"},
		{[]string{"--host", hostFile("epyc-7551p"), "--for", quickstartFile, "--set", "nodes.dut.cpsu=1"}, exit.Wrong, "cpus"},
		{[]string{"--set", "repeat=1"}, exit.Wrong, "--for FILE"},
		{[]string{"--host", quickstartFile}, exit.Wrong, "--host"},
		{[]string{"--format", "xml"}, exit.Wrong, "table, json"},
		{[]string{"lab.yaml"}, exit.Wrong, "takes no argument"},
	} {
		code, stdout, stderr := call(append([]string{"doctor"}, test.args...)...)
		said := stdout
		if test.code == exit.Wrong {
			said = stderr
		}
		if code != test.code || !strings.Contains(said, test.says) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s%s", test.args, code, test.code, test.says, stdout, stderr)
		}
		if test.code != exit.Done && stderr == "" {
			t.Errorf("%q says nothing on stderr", test.args)
		}
	}
	code, stdout, _ := call("doctor", "--host", hostFile("microvm"), "--format", "json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exit.Failed || report.Schema != doctor.Schema || report.Verdict != doctor.VerdictUnfit || len(report.Findings) == 0 {
		t.Errorf("JSON: exit %d, %v: %.200s", code, err, stdout)
	}
}

// TestDoctorOfThisMachine: the doctor judges any machine, from its files alone.
func TestDoctorOfThisMachine(t *testing.T) {
	code, stdout, stderr := call("doctor")
	if code != exit.Done && code != exit.Failed || !strings.Contains(stdout, "verdict") {
		t.Errorf("exit %d:\n%s%s", code, stdout, stderr)
	}
}

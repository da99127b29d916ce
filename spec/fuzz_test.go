package spec

import (
	"testing"
)

// FuzzFile reads any input: none may crash the reader, exceed its limits, or be accepted and then
// read differently after it was written out.
func FuzzFile(f *testing.F) {
	for _, path := range files(f, "testdata/valid/*.yaml", "../examples/*.yaml") {
		f.Add(read(f, path), "traffic.burst=2")
	}
	for _, wrong := range wrongFiles(f) {
		// Those are costly deliberately, and an input that takes ten seconds is taken for one that hangs;
		// TestWrongFiles has them.
		if wrong.name != "billion-laughs" && wrong.name != "sweep-too-many" {
			f.Add(wrong.data, "traffic.burst=2")
		}
	}
	for _, set := range []string{"links.*.kind=xdp", "sweep.traffic.burst=[1,2]", "sweep=", `nodes."a".env.X=[`, "nodes.*.app.wait=spin", "nodes.*.rx=busy_poll", `links.*.rx={"dut:in": suspend}`, "nodes.dut.polling={cpus: 1, adaptive: true, longest: 1ms}"} {
		f.Add(read(f, "../examples/quickstart.yaml"), set)
	}
	for _, set := range []string{"way=0", "way=", "sweep.way.0=", "sweep.way.new={traffic.burst: 2}", "traffic.backend=dpdk", "links.*.kind=veth", `sweep.way."xdp/raw"=[]`} {
		f.Add(read(f, "testdata/valid/cases.yaml"), set)
	}
	for _, set := range []string{"links.out.switch.ports=", `links.out.switch.ports."gen:rx".vlan=7`, "dpdk.device.gen:tx=net_null0", "published=", "dpdk="} {
		f.Add(read(f, "testdata/valid/bypass.yaml"), set)
	}
	for _, set := range []string{"method.goals.0.width=0.1", "method.goals=[ndr, {name: x, loss_ratio: 0.1}]", "method.kind=rfc2544", "method=", "traffic.rate_pps=1", "sweep.method.goals=[[ndr], [pdr]]"} {
		f.Add(read(f, "testdata/valid/method.yaml"), set)
	}
	f.Fuzz(func(t *testing.T, data []byte, set string) {
		if len(data) > 1<<16 || len(set) > 1<<12 {
			t.Skip("longer inputs only cost time; the limits have tests of their own")
		}
		file, err := Load("fuzz.yaml", data)
		if err != nil {
			wellFormed(t, err)
			return
		}
		if err := file.Set(set); err != nil {
			wellFormed(t, err)
		}
		effective, err := file.Effective()
		if err != nil {
			t.Fatalf("a file that was read cannot be written: %v", err)
		}
		runs, err := file.Runs()
		if err != nil {
			wellFormed(t, err)
			return
		}
		again, err := Load("effective.yaml", effective)
		if err != nil {
			t.Fatalf("the effective file is not read: %v\n%s", err, effective)
		}
		for _, e := range runs[0].written() {
			rereads(t, e)
		}
		if more, err := again.Runs(); err != nil || len(more) != len(runs) || more[0].String() != runs[0].String() {
			t.Fatalf("the effective file gives other runs: %v\n%s", err, effective)
		}
	})
}

// wellFormed checks that an error has the promised type and fields.
func wellFormed(t *testing.T, err error) {
	t.Helper()
	errs, ok := AsErrors(err)
	if !ok || len(errs) == 0 || errs.ExitCode() != 2 {
		t.Fatalf("not an error of the file: %#v", err)
	}
	for _, e := range errs {
		if e.File == "" || e.Problem == "" {
			t.Fatalf("an error without place or problem: %#v", e)
		}
	}
}

// FuzzText sends any text through a value: the experiment has what --set was given, and both ways
// of writing a file keep it.
func FuzzText(f *testing.F) {
	for _, text := range []string{"a", "", " a ", "a: b", "# no", "'", `"`, "1", "true", "~", "- x", "|\n a", "a\nb", "\u2028", "\u0085", "é", "[1, 2]", "*a", "&a b", "!x y", "%", "\t", "a #b", "2020-01-01", "<<", "=", "\ufeff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := mustLoad(t, setLab)
		if err := file.Set("sweep="); err != nil {
			t.Fatal(err)
		}
		if err := file.Set("nodes.a.env.X=" + text); err != nil {
			wellFormed(t, err)
			return
		}
		e, err := file.Experiment()
		if err != nil {
			wellFormed(t, err)
			return
		}
		rereads(t, e)
		effective, err := file.Effective()
		if err != nil {
			t.Fatal(err)
		}
		again, err := mustLoad(t, string(effective)).Experiment()
		if err != nil {
			t.Fatalf("%v\n%s", err, effective)
		}
		if want, got := e.Topology.Nodes["a"].Env["X"], again.Topology.Nodes["a"].Env["X"]; want != got {
			t.Fatalf("%q was written as %q:\n%s", want, got, effective)
		}
	})
}

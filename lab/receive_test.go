package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// load:tx ──in── dut:in, which is received by %s; its threads have the last of two CPUs
const receiveLab = `
name: tbreceive
topology:
  nodes:
    load: {}
    dut: {runtime: %s, rx: %s, polling: {cpus: 1, scheduling: {policy: fifo, priority: 1}}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
`

// polled pings a lab's dut and returns how often its threads polled the interface, and how often
// others did from interrupts. While a poller is starved, or starves others, its watchdog stops it
// and leaves the work to softirqs: then polled tries again, as it does where a thread got no CPU at all, so that it cannot
// have noted this.
func polled(t *testing.T, lab *Lab, pings int) (own, others uint64) {
	t.Helper()
	threads := func() string {
		text := ""
		for _, thread := range receivedOf(t, lab).Threads {
			text += fmt.Sprintf("%s %d stopped %d times, ", thread.Name, thread.TID, thread.BackOffs)
		}
		return text
	}
	for begun := time.Now(); ; {
		before := threads()
		own, others = pollsOnce(t, lab, pings)
		after := threads()
		ran := own > 0 || after == ""
		if ran && before == after && !strings.Contains(after, "backed off") {
			return own, others
		}
		if time.Since(begun) > 3*time.Minute {
			t.Fatalf("a thread was never left alone for %d packets: %s, then %s", pings, before, after)
		}
	}
}

func pollsOnce(t *testing.T, lab *Lab, pings int) (own, others uint64) {
	t.Helper()
	polls, err := busypoll.CountPolls()
	labtest.Require(t, fmt.Sprintf("BPF programs at tracepoints (%v)", err), err == nil)
	defer polls.Close()
	address := lab.Plan().Node("dut").Interfaces[0].Addresses[0]
	address, _, _ = strings.Cut(address, "/")
	in(t, lab, "load", "ping", "-q", "-c", fmt.Sprint(pings), "-i", "0.002", "-W", "2", address)
	counts, err := polls.Counts()
	if err != nil {
		t.Fatal(err)
	}
	received := receivedOf(t, lab)
	for poll, count := range counts {
		switch {
		case !slices.Contains(received.NAPIs, poll.NAPI):
		case slices.ContainsFunc(received.Threads, func(r receive.Thread) bool { return r.TID == poll.TID }):
			own += count.Polls
		default:
			others += count.Polls
		}
	}
	return own, others
}

// receivedOf is the receive state of the dut's interface.
func receivedOf(t *testing.T, lab *Lab) receive.State {
	t.Helper()
	list, err := receive.States(lab.Lab)
	if err != nil || len(list) != 1 {
		t.Fatalf("received: %+v, %v", list, err)
	}
	if list[0].Problem != "" {
		t.Fatal(list[0].Problem)
	}
	return list[0]
}

// In each runtime the polling thread polls, on its CPU and with its policy, and there are hardly
// any polls from interrupts. An interface without a poller shows that the test would see those.
func TestBusyPollTakesEffect(t *testing.T) {
	labtest.Root(t)
	const pings = 300
	for _, runtime := range []string{"netns", "lxc", "host", "oci-docker"} {
		t.Run(runtime, func(t *testing.T) {
			needRuntime(t, runtime)
			labs.NeedReceive(t, spec.ReceiveBusyPoll)
			lab := up(t, strings.Replace(fmt.Sprintf(receiveLab, "RUNTIME", spec.ReceiveBusyPoll), "runtime: RUNTIME", keysOf(t, runtime), 1))
			now := receivedOf(t, lab)
			wanted := lab.Plan().Node("dut").Receive.CPUs
			if now.Mechanism == "" || len(now.Threads) != 1 || now.Threads[0].Scheduling != "fifo:1" || !slices.Equal(now.Threads[0].CPUs, wanted) {
				t.Errorf("its threads, which are to have CPUs %v as fifo:1: %+v", wanted, now)
			}
			own, others := polled(t, lab, pings)
			t.Logf("%d polls by its thread and %d by others, for %d packets", own, others, pings)
			// Real-time throttling stops the thread for 50 ms of each second.
			if own < 10*pings || others > pings/2 {
				t.Errorf("%d polls by its thread and %d by others, for %d packets", own, others, pings)
			}
		})
	}
	t.Run("softirqs are seen", func(t *testing.T) {
		labs.NeedReceive(t, spec.ReceiveSuspend) // uses NAPI, and nothing polls here
		own, others := polled(t, up(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, spec.ReceiveSuspend)), pings)
		t.Logf("%d polls by threads and %d by softirqs, for %d packets", own, others, pings)
		if own > 0 || others < pings/10 {
			t.Errorf("%d polls by threads and %d by softirqs, for %d packets", own, others, pings)
		}
	})
}

// Kernel threads receive in place of softirqs, with the planned CPUs and policy.
func TestThreadedTakesEffect(t *testing.T) {
	labtest.Root(t)
	labs.NeedReceive(t, spec.ReceiveThreaded)
	lab := up(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, spec.ReceiveThreaded))
	now := receivedOf(t, lab)
	wanted := lab.Plan().Node("dut").Receive.CPUs
	if len(now.Threads) != 1 || !strings.HasPrefix(now.Threads[0].Name, "napi/in-") || now.Threads[0].Scheduling != "fifo:1" || !slices.Equal(now.Threads[0].CPUs, wanted) {
		t.Errorf("its threads, which are to have CPUs %v as fifo:1: %+v", wanted, now.Threads)
	}
	if own, others := polled(t, lab, 100); own < 10 || others > 0 {
		t.Errorf("%d polls by its thread and %d by others", own, others)
	}
}

// A CPU that is kept awake never halts.
func TestAwakeTakesEffect(t *testing.T) {
	labtest.Root(t)
	before := traces.WakeLatencies(t)
	lab := up(t, `
name: tbawake
topology:
  nodes:
    load: {}
    dut: {cpus: 1, rx: awake}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
`)
	now := receivedOf(t, lab)
	cpu := lab.Plan().Node("dut").Receive.AwakeCPUs[0]
	// A count of its halts: idle time where a thread spins; idle states other than the first, which
	// polls, where the idle loop does.
	var pattern string
	switch now.Mechanism {
	case "spin":
		if len(now.Threads) != 1 || now.Threads[0].Scheduling != "idle:0" || !slices.Equal(now.Threads[0].CPUs, []int{cpu}) {
			t.Errorf("what keeps CPU %d awake: %+v", cpu, now.Threads)
		}
	case "pm_qos":
		pattern = fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state[1-9]/usage", cpu)
	default:
		t.Fatalf("kept awake by %q", now.Mechanism)
	}
	halts := func() string {
		if pattern == "" {
			return idleTicks(t, cpu)
		}
		var all []string
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimSpace(string(text)))
		}
		return strings.Join(all, " ")
	}
	// A halt from before the change may still have to end.
	time.Sleep(50 * time.Millisecond)
	first := halts()
	time.Sleep(500 * time.Millisecond)
	if last := halts(); last != first {
		t.Errorf("CPU %d stopped: %s, then %s", cpu, first, last)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	traces.AsleepAgain(t, before, "down")
}

// idleTicks is the idle time of a CPU, from /proc/stat.
func idleTicks(t *testing.T, cpu int) string {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == fmt.Sprintf("cpu%d", cpu) {
			return fields[4]
		}
	}
	t.Fatalf("/proc/stat has no CPU %d", cpu)
	return ""
}

// Another receive mode needs no new lab: everything in it keeps running, and the settings of the
// old mode are restored.
func TestApplyChangesHowALabIsReceived(t *testing.T) {
	labtest.Root(t)
	labs.NeedReceive(t, spec.ReceiveBusyPoll)
	// On the dut's own CPU, as separate CPUs for threads would move the nodes to other CPUs.
	text := func(rx spec.Receive) string {
		return strings.Replace(fmt.Sprintf(receiveLab, spec.RuntimeNetns, rx), "polling: {cpus: 1, scheduling: {policy: fifo, priority: 1}}", "cpus: 1", 1)
	}
	lab := up(t, text(spec.ReceiveInterrupt))
	pids := []int{lab.PID("load"), lab.PID("dut")}
	device := func() string {
		return in(t, lab, "dut", "sh", "-c", "cat /sys/class/net/in/threaded /sys/class/net/in/gro_flush_timeout /sys/class/net/in/napi_defer_hard_irqs; ethtool -k in") +
			in(t, lab, "load", "ethtool", "-k", "tx")
	}
	before := device()
	var last receive.State
	for _, rx := range []spec.Receive{spec.ReceiveThreaded, spec.ReceiveBusyPoll, spec.ReceiveAwake, spec.ReceiveBusyPoll} {
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text(rx)), Experiment: []byte(text(rx))})
		if err != nil {
			t.Fatalf("%s: %v", rx, err)
		}
		if len(changes.Received) != 1 || len(changes.ReplacedNodes)+len(changes.ReplacedLinks)+len(changes.RestartedApps) > 0 {
			t.Errorf("%s: more than the way of receiving changes: %+v", rx, changes)
		}
		if now := []int{lab.PID("load"), lab.PID("dut")}; !slices.Equal(now, pids) {
			t.Errorf("%s: the nodes' processes were %v and are %v", rx, pids, now)
		}
		if last = receivedOf(t, lab); last.RX != rx {
			t.Errorf("received by %s, not %s", last.RX, rx)
		}
	}
	if len(last.Threads) != 1 {
		t.Fatalf("its threads: %+v", last.Threads)
	}
	poller := last.Threads[0].TID
	back := text(spec.ReceiveInterrupt)
	if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, back), Experiment: []byte(back)}); err != nil {
		t.Fatal(err)
	}
	if list, err := receive.States(lab.Lab); err != nil || len(list) != 0 {
		t.Errorf("received still: %+v, %v", list, err)
	}
	if now := device(); now != before {
		t.Errorf("the devices were\n%s\nand are\n%s", before, now)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", poller)); err == nil {
		t.Errorf("thread %d still polls", poller)
	}
}

// Later commands know a lab only by its journal: they must take the nodes' processes, not their
// pollers in the host's namespaces.
func TestALaterCommandFindsTheNodesOfAPolledLab(t *testing.T) {
	labtest.Root(t)
	for _, rx := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveAwake} {
		t.Run(string(rx), func(t *testing.T) {
			labs.NeedReceive(t, rx)
			lab := up(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, rx))
			later, err := Open(lab.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"load", "dut"} {
				if later.PID(name) != lab.PID(name) {
					t.Errorf("the process of %s is %d, and later %d", name, lab.PID(name), later.PID(name))
				}
			}
			if links := in(t, later, "dut", "ip", "-br", "link"); !strings.Contains(links, "in@") {
				t.Errorf("in the node are\n%s", links)
			}
		})
	}
}

// A poller that dies is a fault: its interfaces then wait for timers. To apply the same file again mends it.
func TestAPollerThatDiesIsAFault(t *testing.T) {
	labtest.Root(t)
	text := fmt.Sprintf(receiveLab, spec.RuntimeNetns, spec.ReceiveBusyPoll)
	lab, err := Open(up(t, text).Name())
	if err != nil {
		t.Fatal(err)
	}
	records, err := receive.Records(lab.Lab)
	if err != nil {
		t.Fatal(err)
	}
	poller := records[0].Poller
	labtest.Require(t, "a mechanism with a process of its own, not "+records[0].Mechanism, poller.PID > 0)
	if faults, err := lab.Faults(); err != nil || len(faults) != 0 {
		t.Fatalf("faults of a whole lab: %q, %v", faults, err)
	}
	kill(t, poller.PID)
	faults, err := lab.Faults()
	if err != nil || len(faults) != 1 || !strings.HasPrefix(faults[0].Problem, "rx: busy_poll of dut:in: receive mode changed since setup: nines-poller has ended") {
		t.Errorf("faults: %q, %v", faults, err)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil || !slices.Equal(changes.Received, []string{"dut"}) {
		t.Fatalf("apply: %+v, %v", changes, err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) != 0 {
		t.Errorf("faults after apply: %q, %v", faults, err)
	}
	if records, err = receive.Records(lab.Lab); err != nil || !records[0].Poller.Alive() {
		t.Errorf("the poller after apply: %+v, %v", records, err)
	}
}

// A guard that dies is a fault too: a thread that it had stopped would stay stopped.
func TestAGuardThatDiesIsAFault(t *testing.T) {
	labtest.Root(t)
	labs.NeedReceive(t, spec.ReceiveThreaded)
	lab, err := Open(up(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, spec.ReceiveThreaded)).Name())
	if err != nil {
		t.Fatal(err)
	}
	records, err := receive.Records(lab.Lab)
	if err != nil {
		t.Fatal(err)
	}
	if guard := records[0].Guard; !guard.Alive() {
		t.Fatalf("a thread of a real-time policy has no watchdog: %+v", records)
	}
	receivedOf(t, lab)
	kill(t, records[0].Guard.PID)
	faults, err := lab.Faults()
	if err != nil || len(faults) != 1 || !strings.HasPrefix(faults[0].Problem, "rx: threaded of dut:in: receive mode changed since setup: its watchdog exited") {
		t.Errorf("faults: %q, %v", faults, err)
	}
}

// A device that is set down and up has new NAPI instances, without the settings. That is a fault of
// the lab, so that the next measurement gets a new lab.
func TestADeviceThatIsSetUpAnewIsNotReceivedAsPlanned(t *testing.T) {
	labtest.Root(t)
	for _, way := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveSuspend} {
		t.Run(string(way), func(t *testing.T) {
			labs.NeedReceive(t, way)
			lab := up(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, way))
			now := receivedOf(t, lab)
			labtest.Require(t, "NAPI instances that are not followed, as by "+now.Mechanism, len(now.NAPIs) > 0 && now.Mechanism != string(spec.PollLivepatch))
			ns, err := lab.Running("dut").Namespace()
			if err != nil {
				t.Fatal(err)
			}
			defer ns.Close()
			if err := ns.Do(func() error {
				link, err := netlink.LinkByName("in")
				if err != nil {
					return err
				}
				return errors.Join(netlink.LinkSetDown(link), netlink.LinkSetUp(link))
			}); err != nil {
				t.Fatal(err)
			}
			if list, err := receive.States(lab.Lab); err != nil || len(list) != 1 || !strings.Contains(list[0].Problem, "is gone") {
				t.Errorf("set down and up: %+v, %v", list, err)
			}
			faults, err := lab.Faults()
			// The kernel takes up to a second to say that the device is up again (net/core/link_watch.c).
			isDown := func(f check.Fault) bool { return strings.HasSuffix(f.Problem, " is down") }
			for until := time.Now().Add(20 * time.Second); err == nil && slices.ContainsFunc(faults, isDown) && time.Now().Before(until); faults, err = lab.Faults() {
				time.Sleep(20 * time.Millisecond)
			}
			// A device that goes down also forgets its neighbours.
			if err != nil || len(faults) != 2 || !strings.HasPrefix(faults[0].Problem, "rx: "+string(way)+" of dut:in: receive mode changed since setup") ||
				!strings.HasPrefix(faults[1].Problem, "interface dut:in has lost its neighbour") {
				t.Errorf("faults: %q, %v", faults, err)
			}
		})
	}
}

// A receive mode that the kernel lacks is refused by name before anything is made.
func TestReceivingThatThisKernelCannotDo(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, fmt.Sprintf(receiveLab, spec.RuntimeNetns, spec.ReceiveBusyPoll))
	features := busypoll.Probe()
	for mechanism, lack := range map[spec.PollMechanism]busypoll.Lack{
		spec.PollNetlink: features.Netlink, spec.PollLivepatch: features.Livepatch, spec.PollIOUring: features.IOUring,
	} {
		p.Node("dut").Receive.Mechanism = mechanism
		_, err := receive.Check(p)
		missing := (*exit.MissingError)(nil)
		switch {
		case lack.None() && err != nil:
			t.Errorf("%s, which this kernel has: %v", mechanism, err)
		case !lack.None() && (!errors.As(err, &missing) || missing.ExitCode() != 3 || !strings.Contains(err.Error(), "dut")):
			t.Errorf("%s, which it lacks (%s): %v", mechanism, lack, err)
		}
	}
}

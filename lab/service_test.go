package lab

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// servedLab has services in a netns and an lxc node. One of them ends by its signal only.
const servedLab = `
name: tbserve
topology:
  nodes:
    a:
      services:
        - name: first
          run: [sh, -c, "trap 'echo asked; exit 0' INT; echo up at $NINES_V_IP; while :; do sleep 0.05; done"]
          stop: SIGINT
          ready: {output: up at}
        - {name: second, run: [sh, -c, "echo again; exec sleep 1000"], ready: {command: ["true"]}}
    b:
      runtime: lxc
      services:
        - {name: web, run: [httpd, -f, -p, "80"], ready: {port: 80}}
  links:
    - {name: v, endpoints: ["a:v", "b:v"]}
`

func servicesNow(t *testing.T, l *Lab) map[string]service.State {
	t.Helper()
	all, err := service.All(l.Lab)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]service.State{}
	for _, s := range all {
		found[s.Node+":"+s.Name] = s
	}
	return found
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestServicesComeAndGoWithTheLab(t *testing.T) {
	labtest.Root(t)
	served := servedLab
	l := up(t, served)
	first := servicesNow(t, l)
	for _, name := range []string{"a:first", "a:second", "b:web"} {
		if s := first[name]; !s.Alive || s.Status != service.Ready {
			t.Errorf("%s is %+v", name, s)
		}
	}
	address, _, _ := strings.Cut(l.Plan().Nodes[0].Interfaces[0].Addresses[0], "/")
	if said := text(t, first["a:first"].Log); said != "up at "+address+"\n" {
		t.Errorf("it says %q", said)
	}

	t.Run("only what changes is restarted, by its signal", func(t *testing.T) {
		changed := strings.Replace(served, "up at $", "now up at $", 1)
		changes, err := l.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, changed), Experiment: []byte(changed)})
		if err != nil || len(changes.RestartedServices) != 1 || changes.RestartedServices[0] != "a:first" || len(changes.FreshNodes)+len(changes.ReplacedNodes) > 0 {
			t.Fatalf("%+v, %v", changes, err)
		}
		second := servicesNow(t, l)
		if second["a:second"].Keeper != first["a:second"].Keeper || second["a:first"].Keeper == first["a:first"].Keeper {
			t.Errorf("before %+v, now %+v", first, second)
		}
		if said := text(t, second["a:first"].Log+".before"); !strings.HasSuffix(said, "asked\n") {
			t.Errorf("it was not asked to end: %q", said)
		}
		served = changed
	})
	t.Run("one that ends is a fault until it is started again", func(t *testing.T) {
		in(t, l, "a", "pkill", "-KILL", "-x", "sleep")
		labtest.Eventually(t, "a fault is told", func() bool {
			faults, err := l.Faults()
			return err == nil && len(faults) == 1 && faults[0].Remedy == check.RestartService &&
				strings.Contains(faults[0].Problem, "service second of node a has ended: signal: killed; its last output was: again")
		})
		changes, err := l.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, served), Experiment: []byte(served)})
		if faults, unread := l.Faults(); err != nil || unread != nil || len(faults) > 0 || len(changes.RestartedServices) != 1 {
			t.Errorf("%+v, %v; faults %v, %v", changes, err, faults, unread)
		}
	})
	t.Run("a service is restarted alone, and with its node", func(t *testing.T) {
		before := servicesNow(t, l)
		if err := l.RestartService(t.Context(), "a", "second", RestartOptions{}); err != nil {
			t.Fatal(err)
		}
		now := servicesNow(t, l)
		if now["a:second"].Keeper == before["a:second"].Keeper || now["a:first"].Keeper != before["a:first"].Keeper {
			t.Errorf("before %+v, now %+v", before, now)
		}
		if err := l.Restart(t.Context(), []string{"b"}, RestartOptions{}); err != nil {
			t.Fatal(err)
		}
		if after := servicesNow(t, l); !after["b:web"].Alive || after["b:web"].Keeper == now["b:web"].Keeper {
			t.Errorf("after its node's restart: %+v", after["b:web"])
		}
		if err := l.RestartService(t.Context(), "a", "third", RestartOptions{}); err == nil || !strings.Contains(err.Error(), "its services: first, second") {
			t.Errorf("of one that is not there: %v", err)
		}
	})
	var keepers []proc.Identity
	for _, s := range servicesNow(t, l) {
		id, err := proc.Of(s.Keeper)
		if err != nil {
			t.Fatal(err)
		}
		keepers = append(keepers, id)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range keepers {
		if id.Alive() {
			t.Errorf("the keeper %d is alive", id.PID)
		}
	}
}

func TestAServiceThatDoesNotServeFailsTheStart(t *testing.T) {
	labtest.Root(t)
	for run, want := range map[string]string{
		`[sh, -c, "echo cannot bind; exit 3"], ready: {output: never}`:                  "it has ended: exit status 3; its last output was: cannot bind",
		`[sleep, "1000"], ready: {port: 81, within: 300ms}`:                             "a program listens at port 81",
		`[sleep, "1000"], ready: {file: /nowhere/at/all, within: 300ms}`:                "look for /nowhere/at/all: no such file",
		`[sleep, "1000"], ready: {command: [sh, -c, "echo no; exit 1"], within: 300ms}`: "exit status 1: no",
		`[/no/such/program], ready: {output: x}`:                                        "/no/such/program",
		`[sh, -c, "sleep 1000 &"], ready: {output: x, within: 30s}`:                     "left programs in the background",
	} {
		text := `
name: tbserve
topology:
  nodes:
    a: {services: [{name: only, run: ` + run + `}]}
`
		l, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err == nil {
			err = l.Down(context.Background())
			t.Errorf("%s: it is up, %v", run, err)
			continue
		}
		if said := err.Error(); !strings.Contains(said, `service only of node "a": it has ended`) || !strings.Contains(said, want) {
			t.Errorf("%s: %s", run, said)
		}
	}
}

// TestAServiceIsWhoAndWhereItsFileSays: its user, by the node's own list, its policy and its CPU; and it starts again as
// often as its policy says.
func TestAServiceIsWhoAndWhereItsFileSays(t *testing.T) {
	labtest.Root(t)
	for _, runtime := range []string{"netns", "lxc"} {
		t.Run(runtime, func(t *testing.T) {
			l := up(t, `
name: tbwho
topology:
  nodes:
    a:
      runtime: `+runtime+`
      services:
        - name: who
          run: [sh, -c, "id -u; id -g; echo $HOME; grep Cpus_allowed_list /proc/self/status; exec sleep 1000"]
          user: "12:34"
          scheduling: {policy: batch, nice: 3}
          cpus: 1
          ready: {output: Cpus_allowed}
    b:
      runtime: `+runtime+`
      services:
        - {name: frail, run: [sh, -c, "echo try; sleep 0.1; exit 3"], restart: on-failure, restarts: 2}
        - {name: short, run: [sleep, "0.2"], restart: always}
`)
			t.Cleanup(func() { downWithoutTrace(t, l) })
			who := servicesNow(t, l)["a:who"]
			cpu := cpulist.Format(l.Plan().Node("a").ServiceCPUs["who"])
			if said := strings.Fields(text(t, who.Log)); len(said) != 5 || said[0] != "12" || said[1] != "34" || said[2] != "/" || said[4] != cpu {
				t.Errorf("it says %q, and its CPU is %s", said, cpu)
			}
			if policy := in(t, l, "a", "sh", "-c", "for p in /proc/[0-9]*; do grep -qs 1000 $p/cmdline && cut -d' ' -f 19,41 $p/stat; done"); !strings.Contains(policy, "3 3") {
				t.Errorf("niceness and policy are %q", policy)
			}
			labtest.Eventually(t, "frail is given up", func() bool { return servicesNow(t, l)["b:frail"].Status == service.Ended })
			frail := servicesNow(t, l)["b:frail"]
			if frail.Ends != 3 || frail.Ending != "exit status 3" || text(t, frail.Log) != "try\ntry\ntry\n" {
				t.Errorf("it has ended %d times, %s: %q", frail.Ends, frail.Ending, text(t, frail.Log))
			}
			labtest.Eventually(t, "short has ended twice", func() bool { return servicesNow(t, l)["b:short"].Ends >= 2 })
		})
	}
	wrong := "name: tbwho\ntopology: {nodes: {a: {services: [{name: who, run: [sleep, \"1000\"], user: nobody-here}]}}}\n"
	if err := upError(t, wrong); err == nil || !strings.Contains(err.Error(), `the user "nobody-here"`) {
		t.Errorf("an unknown user: %v", err)
	}
}

// TestExecSaysWhatStays: a command of exec that leaves a program in the background, or does not end, is told of services.
func TestExecSaysWhatStays(t *testing.T) {
	labtest.Root(t)
	l := up(t, "name: tbserve\ntopology:\n  nodes:\n    a: {}\n")
	b := &builder{Lab: l, progress: func(string) {}}
	n := *l.Plan().Node("a")
	for want, argv := range map[string][]string{
		"has left a program in the background":                        {"sh", "-c", "echo begun; sleep 100 &"},
		"had not ended after 200ms, and was ended; it printed: begun": {"sh", "-c", "echo begun; exec sleep 100"},
		"exit status 4; it printed nothing":                           {"sh", "-c", "exit 4"},
	} {
		patience := time.Minute
		if strings.Contains(want, "200ms") {
			patience = 200 * time.Millisecond
		}
		if err := b.runExec(t.Context(), n, argv, patience); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", argv, err, want)
		}
	}
}

// TestAServiceThatMemoryRanOutForSaysSo: its signal alone does not tell who sent it.
func TestAServiceThatMemoryRanOutForSaysSo(t *testing.T) {
	labtest.Root(t)
	for _, runtime := range []string{"netns", "lxc"} {
		t.Run(runtime, func(t *testing.T) {
			l := up(t, `
name: tbhungry
topology:
  nodes:
    a:
      runtime: `+runtime+`
      memory: 48MiB
      services:
        - {name: hungry, run: [sh, -c, "echo up; sleep 0.1; exec tail /dev/zero"], ready: {output: up}}
`)
			var s service.State
			labtest.Eventually(t, "it has ended", func() bool {
				s = servicesNow(t, l)["a:hungry"]
				return s.Status == service.Ended
			})
			for _, part := range []string{"killed", "memory had run out, and the kernel killed a process of its node (oom_kill): raise the node's memory, which is 48 MiB"} {
				if !strings.Contains(s.Why(), part) {
					t.Errorf("%s, without %q", s.Why(), part)
				}
			}
		})
	}
}

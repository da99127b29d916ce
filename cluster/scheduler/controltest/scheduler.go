package controltest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/cluster/deploy"
)

// StartScheduler starts the scheduler with the configuration that users get, and waits until it
// places pods.
func (p *Plane) StartScheduler(t testing.TB) {
	t.Helper()
	port := p.LaunchScheduler(t)
	p.awaitScheduler(t, p.schedule, port)
}

// StartSecondScheduler starts one with a configuration and with the rights of the service account
// that cluster/deploy/second gives it, and waits until it places pods.
func (p *Plane) StartSecondScheduler(t testing.TB, configuration string) {
	t.Helper()
	var port int
	p.second, port = p.launch(t, "second-scheduler", secondToken, configuration)
	p.awaitScheduler(t, p.second, port)
}

func (p *Plane) awaitScheduler(t testing.TB, started *process, port int) {
	t.Helper()
	insecure := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	p.await(t, started, "ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/readyz", port), nil)
		if err != nil {
			return err
		}
		answer, err := insecure.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}

// LaunchScheduler starts the scheduler, and returns its port without waiting.
func (p *Plane) LaunchScheduler(t testing.TB) int {
	t.Helper()
	var port int
	p.schedule, port = p.launch(t, "scheduler", schedulerToken, string(deploy.SchedulerConfiguration)+"leaderElection: {leaderElect: false}\n")
	return port
}

// launch starts a scheduler whose files have a name.
func (p *Plane) launch(t testing.TB, name, token, configuration string) (*process, int) {
	t.Helper()
	kubeconfig := p.kubeconfig(t, name+".conf", token)
	file := p.write(t, name+".yaml", configuration+fmt.Sprintf("clientConnection: {kubeconfig: %q, qps: 1000, burst: 2000}\n", kubeconfig))
	port := freePorts(t, 1)[0]
	return p.start(t, "kube-scheduler", "--config="+file, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+filepath.Join(p.folder, name), "--authorization-always-allow-paths=/readyz",
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig), port
}

// KillScheduler ends it as a crash would.
func (p *Plane) KillScheduler() { p.schedule.kill() }

// SchedulerEnded waits for its end, and returns the end of its log.
func (p *Plane) SchedulerEnded(t testing.TB) string {
	t.Helper()
	select {
	case <-p.schedule.ended:
	case <-time.After(starting):
		t.Errorf("the scheduler has not ended in %s", starting)
	}
	return p.schedule.tail()
}

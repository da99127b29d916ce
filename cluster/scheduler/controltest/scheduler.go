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
	insecure := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	p.await(t, p.schedule, "ready", func(ctx context.Context) error {
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
	kubeconfig := p.write(t, "scheduler.conf", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, p.apiPort, schedulerToken))
	configuration := p.write(t, "scheduler.yaml", string(deploy.SchedulerConfiguration)+fmt.Sprintf(`
clientConnection: {kubeconfig: %q, qps: 1000, burst: 2000}
leaderElection: {leaderElect: false}
`, kubeconfig))
	port := freePorts(t, 1)[0]
	p.schedule = p.start(t, "kube-scheduler", "--config="+configuration, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+filepath.Join(p.folder, "scheduler"), "--authorization-always-allow-paths=/readyz",
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	return port
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

package controltest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nines.dev/nines/cluster/client"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/test/labtest"
)

// ProgramsVariable names the folder of nines-kube. Without it that of the checkout is taken.
const ProgramsVariable = "NINES_CLUSTER_PROGRAMS"

// Tokens of who speaks to the API server. They are no secret: it listens on the loopback device of
// a test.
const (
	adminToken     = "admin-of-the-test"
	schedulerToken = "scheduler-of-the-test"
	secondToken    = "second-scheduler-of-the-test"
)

// starting is how long a program has to become ready on a busy host.
const starting = 3 * time.Minute

// Plane is a running control plane.
type Plane struct {
	// Kube and Latencies speak to it as its administrator.
	Kube      kubernetes.Interface
	Latencies *client.Client
	Config    *rest.Config

	program, folder           string
	server                    string // the API server's address, or a gate's
	etcdPort, apiPort         int
	etcd, apiserver, schedule *process
	second                    *process
}

// Program is the path of nines-kube. A test that finds none is skipped.
func Program(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(ProgramsVariable)
	if folder == "" {
		folder = filepath.Join(labtest.Repository(), "bin", "cluster")
	}
	program := filepath.Join(folder, "nines-kube")
	_, err := os.Stat(program)
	labtest.Require(t, "the cluster's programs (make setup-cluster)", err == nil)
	return program
}

// Start starts etcd and the API server. They end with the test, after which their logs are shown
// if it failed.
func Start(t testing.TB) *Plane {
	t.Helper()
	p := &Plane{program: Program(t), folder: t.TempDir()}
	ports := freePorts(t, 3)
	p.etcdPort, p.apiPort = ports[0], ports[2]
	p.etcd = p.start(t, "etcd", "--data-dir="+filepath.Join(p.folder, "etcd"), "--unsafe-no-fsync", "--log-level=error",
		fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", p.etcdPort),
		fmt.Sprintf("--advertise-client-urls=http://127.0.0.1:%d", p.etcdPort),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", ports[1]))
	t.Cleanup(func() {
		for _, one := range []*process{p.schedule, p.second, p.apiserver, p.etcd} {
			one.kill()
			if t.Failed() && one != nil {
				t.Log(one.tail())
			}
		}
	})
	p.write(t, "tokens.csv", adminToken+",admin,1,system:masters\n"+schedulerToken+",system:kube-scheduler,2\n"+
		secondToken+",system:serviceaccount:nines:nines-scheduler,3,\"system:serviceaccounts,system:serviceaccounts:nines\"\n")
	p.write(t, "accounts.key", newKey(t))
	p.Config = p.config(adminToken)
	p.Through(nil)
	var err error
	if p.Kube, err = kubernetes.NewForConfig(p.Config); err != nil {
		t.Fatal(err)
	}
	if p.Latencies, err = client.New(p.Config); err != nil {
		t.Fatal(err)
	}
	p.startAPIServer(t)
	return p
}

func (p *Plane) startAPIServer(t testing.TB) {
	t.Helper()
	in := func(file string) string { return filepath.Join(p.folder, file) }
	p.apiserver = p.start(t, "kube-apiserver",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", fmt.Sprintf("--secure-port=%d", p.apiPort), "--cert-dir="+in("certificates"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", p.etcdPort),
		"--allow-privileged=true", // as the agent is
		"--token-auth-file="+in("tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+in("accounts.key"),
		"--service-account-signing-key-file="+in("accounts.key"), "--service-cluster-ip-range=10.96.0.0/16",
		// There is no controller manager, which makes accounts, and no kubelet, which makes nodes ready.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	p.await(t, p.apiserver, "ready", func(ctx context.Context) error {
		return p.Kube.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// KillAPIServer ends the API server as a crash would.
func (p *Plane) KillAPIServer() { p.apiserver.kill() }

// RestartAPIServer kills the API server, if it runs, and starts it again.
func (p *Plane) RestartAPIServer(t testing.TB) {
	t.Helper()
	p.KillAPIServer()
	p.startAPIServer(t)
}

// Through has what is started from now on reach the API server through a gate; nil for directly.
func (p *Plane) Through(g *Gate) {
	p.server = p.Config.Host
	if g != nil {
		p.server = g.URL
	}
}

// Kubeconfig writes a file by which a program reaches the API server as its administrator, and
// returns its path.
func (p *Plane) Kubeconfig(t testing.TB) string {
	t.Helper()
	return p.kubeconfig(t, "admin.conf", adminToken)
}

func (p *Plane) kubeconfig(t testing.TB, file, token string) string {
	t.Helper()
	return p.write(t, file, fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, p.server, token))
}

// await waits until ready has no error, or the program ends.
func (p *Plane) await(t testing.TB, of *process, what string, ready func(context.Context) error) {
	t.Helper()
	err := await.Until(context.Background(), await.Condition{
		What: of.name + " is " + what, Within: starting, Every: 50 * time.Millisecond,
		Holds: func(ctx context.Context) error {
			err := ready(ctx)
			if err == nil {
				return nil
			}
			select {
			case <-of.ended:
				return await.Never(fmt.Errorf("%s ended before it was %s", of.name, what))
			default:
				return err
			}
		},
	})
	if err != nil {
		t.Fatalf("%v; %s", err, of.tail())
	}
}

func (p *Plane) config(token string) *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", p.apiPort), BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // its certificate is its own, made at each start
		QPS:             1000, Burst: 2000,
	}
}

func (p *Plane) write(t testing.TB, file, text string) string {
	t.Helper()
	path := filepath.Join(p.folder, file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newKey signs the accounts of pods, which no test has.
func newKey(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// freePorts asks the kernel for ports that nobody has.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		// All are closed only after the last, so none is given twice.
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

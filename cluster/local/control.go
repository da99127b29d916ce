package local

import (
	"bytes"
	"net"
	"path/filepath"

	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/local/inside"
)

// etcdAddress is in the control plane's namespace only, where no pod runs.
const etcdAddress = "127.0.0.1:2379"

// apiPort is the service's, so that its address can be the server's own; see APIService.
const apiPort = "443"

// controlFiles are the control plane's files, by their names in its folder.
type controlFiles map[string][]byte

// controlPlane makes the identities of everyone in the cluster, and the control plane's files.
func (l Layout) controlPlane(a *authority) (controlFiles, error) {
	server, err := a.server("kube-apiserver",
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), ControlAddress.AsSlice(), APIService.AsSlice()})
	if err != nil {
		return nil, err
	}
	toKubelets, err := a.client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return nil, err
	}
	accounts, err := newKey()
	if err != nil {
		return nil, err
	}
	files := controlFiles{
		"ca.crt":        a.PEM,
		"apiserver.crt": server.Certificate, "apiserver.key": server.Key,
		"kubelet-client.crt": toKubelets.Certificate, "kubelet-client.key": toKubelets.Key,
		"accounts.key":   accounts,
		"scheduler.yaml": schedulerConfiguration(),
	}
	for file, user := range map[string][]string{
		"controller-manager.conf": {"system:kube-controller-manager"},
		"scheduler.conf":          {"system:kube-scheduler"},
		"admin.conf":              {"admin", "system:masters"},
	} {
		who, err := a.client(user[0], user[1:]...)
		if err != nil {
			return nil, err
		}
		if files[file], err = kubeconfig(l.Name, "https://127.0.0.1:"+apiPort, a.PEM, user[0], who); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// controlPart is what the control plane runs, and installs at the end. Each program's flags are in the
// order in which its documentation has them.
func controlPart(installs []install) inside.Part {
	in := func(file string) string { return filepath.Join(inside.Folder, file) }
	kube := func(program string, flags ...string) []string {
		return append([]string{filepath.Join(inside.Programs, kubeProgram), program}, flags...)
	}
	apply := func(i install) inside.Program {
		return inside.Program{
			Name: i.name, Once: true,
			Argv: kube("kubectl", "--kubeconfig="+in("admin.conf"), "apply", "--server-side", "--filename="+in(i.file())),
		}
	}
	part := inside.Part{Name: ControlName, Programs: []inside.Program{
		{
			Name: "etcd", Ready: "tcp:" + etcdAddress,
			// Its disk is memory, which nothing outlives: there is no use in syncing.
			Argv: kube("etcd", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync",
				"--listen-client-urls=http://"+etcdAddress, "--advertise-client-urls=http://"+etcdAddress,
				"--listen-peer-urls=http://127.0.0.1:2380", "--log-level=warn"),
		},
		{
			// It listens long before it has made the roles that the next ones need.
			Name: "kube-apiserver", Ready: "https://127.0.0.1:" + apiPort + "/readyz",
			Argv: kube("kube-apiserver",
				"--advertise-address="+ControlAddress.String(), "--secure-port="+apiPort,
				"--etcd-servers=http://"+etcdAddress,
				"--tls-cert-file="+in("apiserver.crt"), "--tls-private-key-file="+in("apiserver.key"),
				"--client-ca-file="+in("ca.crt"),
				"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
				"--service-account-key-file="+in("accounts.key"), "--service-account-signing-key-file="+in("accounts.key"),
				"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
				"--allow-privileged=true",
				"--kubelet-client-certificate="+in("kubelet-client.crt"), "--kubelet-client-key="+in("kubelet-client.key"),
				// A node's name is not in a DNS.
				"--kubelet-preferred-address-types=InternalIP",
				"--service-cluster-ip-range="+Services.String()),
		},
		// Before the scheduler, which ends without what its plugin reads.
		apply(installAlways()),
		{
			Name: "kube-controller-manager",
			Argv: kube("kube-controller-manager", "--kubeconfig="+in("controller-manager.conf"),
				"--use-service-account-credentials", "--service-account-private-key-file="+in("accounts.key"),
				"--root-ca-file="+in("ca.crt"),
				"--leader-elect=false", "--bind-address=127.0.0.1"),
		},
		{
			Name: "kube-scheduler",
			Argv: kube("kube-scheduler", "--config="+in("scheduler.yaml"),
				"--authentication-kubeconfig="+in("scheduler.conf"), "--authorization-kubeconfig="+in("scheduler.conf"),
				"--bind-address=127.0.0.1"),
		},
	}}
	for _, i := range installs {
		part.Programs = append(part.Programs, apply(i))
	}
	return part
}

// schedulerConfiguration is that of deploy, for a scheduler that is alone.
func schedulerConfiguration() []byte {
	return append(bytes.Clone(deploy.SchedulerConfiguration), `clientConnection: {kubeconfig: `+filepath.Join(inside.Folder, "scheduler.conf")+`}
leaderElection: {leaderElect: false}
`...)
}

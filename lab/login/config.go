package login

import (
	"fmt"
	"path/filepath"
	"strings"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// hostAlias is the name by which a client knows a node's key and finds its entry: NODE.LAB.
func hostAlias(p *plan.Plan, n plan.Node) string { return n.Name + "." + p.Name }

// knownHost is a node's line of known_hosts, sshd(8).
func knownHost(p *plan.Plan, n plan.Node, key string) string {
	fields := strings.Fields(key)
	if len(fields) < 2 {
		return ""
	}
	return fmt.Sprintf("%s,%s %s %s\n", hostAlias(p, n), p.ManagementAddress(n), fields[0], fields[1])
}

// clientEntry is a node's entry of ssh_config(5).
func clientEntry(l *running.Lab, n plan.Node) string {
	return fmt.Sprintf(`Host %s
  HostName %s
  HostKeyAlias %s
  User root
  IdentityFile %q
  IdentitiesOnly yes
  UserKnownHostsFile %q
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`, hostAlias(l.Plan(), n), l.Plan().ManagementAddress(n), hostAlias(l.Plan(), n), literally(l.State().Identity()), literally(l.State().KnownHosts()))
}

// serverConfig is the configuration of a node's server, sshd_config(5); folder is where the node sees
// its keys. PAM stays out of it: in a node that has the host's files it would open a session with the
// host's logind, which moves the session out of the node's control groups. It is pure.
func serverConfig(p *plan.Plan, n plan.Node, folder string) string {
	return fmt.Sprintf(`# By nines, for the node %s of the lab %s.
ListenAddress %s
Port 22
HostKey %q
AuthorizedKeysFile %q
PidFile none
AllowUsers root
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
UseDNS no
X11Forwarding no
PrintMotd no
Subsystem sftp internal-sftp
`, n.Name, p.Name, p.ManagementAddress(n), filepath.Join(folder, node.SSHHostKey), literally(filepath.Join(folder, node.SSHAuthorizedKeys)))
}

// literally keeps OpenSSH from taking parts of a path for its tokens, ssh_config(5), "TOKENS".
func literally(path string) string { return strings.ReplaceAll(path, "%", "%%") }

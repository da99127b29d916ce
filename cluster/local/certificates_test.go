package local

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
)

func TestTheServerIsTrustedByItsAuthorityOnly(t *testing.T) {
	ours, err := newAuthority("kube")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := newAuthority("kube")
	if err != nil {
		t.Fatal(err)
	}
	who, err := ours.server("kube-apiserver", []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(who.Certificate, who.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		authority *authority
		host      string
		trusted   bool
	}{
		"by address":        {ours, "127.0.0.1", true},
		"by name":           {ours, "localhost", true},
		"another address":   {ours, "127.0.0.2", false},
		"another cluster's": {theirs, "127.0.0.1", false},
	} {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(test.authority.PEM)
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: test.host})
		if (err == nil) != test.trusted {
			t.Errorf("%s: %v, trusted should be %v", name, err, test.trusted)
		}
	}
}

func TestAUserHasItsGroups(t *testing.T) {
	a, err := newAuthority("kube")
	if err != nil {
		t.Fatal(err)
	}
	who, err := a.client("system:node:n1", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(who.Certificate, who.Key)
	if err != nil {
		t.Fatal(err)
	}
	subject := pair.Leaf.Subject
	if subject.CommonName != "system:node:n1" || len(subject.Organization) != 1 || subject.Organization[0] != "system:nodes" {
		t.Errorf("%v", subject)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("a user can pass as a server")
	}
}

package redfish

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"nines.dev/nines/power"
)

// The limits of connections, in all and of one address: one that opens many keeps only itself out.
const (
	mostConnections   = 256
	mostConnectionsOf = 32
)

// Limit closes the connections of a listener that are too many.
func Limit(listener net.Listener) net.Listener {
	return &limited{Listener: listener, open: map[string]int{}}
}

type limited struct {
	net.Listener
	mu   sync.Mutex
	all  int
	open map[string]int
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := power.Source(conn.RemoteAddr(), conn.LocalAddr())
		l.mu.Lock()
		fits := l.all < mostConnections && l.open[source] < mostConnectionsOf
		if fits {
			l.all++
			l.open[source]++
		}
		l.mu.Unlock()
		if fits {
			return &counted{Conn: conn, closed: func() { l.closed(source) }}, nil
		}
		_ = conn.Close()
	}
}

func (l *limited) closed(source string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.open[source]--; l.open[source] == 0 {
		delete(l.open, source)
	}
}

type counted struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// certificateFor is how long a certificate is valid. A lab is gone at the next boot of its host.
const certificateFor = 10 * 365 * 24 * time.Hour

// TLS encrypts a listener's connections with a certificate that it makes for the listener's address.
// It is self-signed: clients must be configured not to verify it.
func TLS(listener net.Listener) (net.Listener, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "nines power"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
		template.IPAddresses = []net.IP{tcp.IP}
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.NewListener(listener, &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}), nil
}

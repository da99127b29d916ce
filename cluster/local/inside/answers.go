package inside

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"time"
)

// authorityFile is the certificate of the authority of the cluster, in a part's folder.
const authorityFile = "ca.crt"

// answerPatience is how long a server may take to answer. It is long, as one that is starting on a
// slow machine takes longer for a handshake than a client's usual patience; one that does not run
// refuses at once.
const answerPatience = 30 * time.Second

// answers tells whether a server that the authority vouches for answers a GET with 200.
func answers(url, authority string) bool {
	text, err := os.ReadFile(authority)
	if err != nil {
		return false
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

package inside

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
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

// asker asks a server that is starting. It keeps its connection: a slow machine has better to do
// than a handshake for each question.
type asker struct {
	// authority is the file with the certificate of who vouches for the server.
	authority string
	client    *http.Client
}

// answers reports whether the server that the authority vouches for answers a GET with 200.
func (a *asker) answers(url string) bool {
	if a.client == nil {
		text, err := os.ReadFile(a.authority)
		if err != nil {
			return false
		}
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(text)
		a.client = &http.Client{
			Timeout:   answerPatience,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}},
		}
	}
	answer, err := a.client.Get(url)
	if err != nil {
		return false
	}
	// A connection is used again once its answer was read.
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, longestAnswer))
	err = errors.Join(err, answer.Body.Close())
	return err == nil && answer.StatusCode == http.StatusOK
}

// longestAnswer is more than such an answer has: a list of what the server waits for.
const longestAnswer = 1 << 20

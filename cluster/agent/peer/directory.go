package peer

import (
	"context"
	"sync"
	"time"
)

// Directory caches the list of agents, so that the API server is not asked each time. It is safe for
// concurrent use.
type Directory struct {
	// Find asks the API server.
	Find func(context.Context) ([]Peer, error)

	lock  sync.Mutex
	peers []Peer
	at    time.Time
}

// Peers returns the agents, from a list that is at most that old.
func (d *Directory) Peers(ctx context.Context, age time.Duration) ([]Peer, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < age {
		return d.peers, nil
	}
	peers, err := d.Find(ctx)
	if err != nil {
		return nil, err
	}
	d.peers, d.at = peers, time.Now()
	return peers, nil
}

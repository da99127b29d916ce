package lab

import (
	"nines.dev/nines/lab/control"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/watch"
)

// Lab is a lab that is up. Any number of processes may inspect a lab and run commands in it,
// without a lock.
type Lab struct {
	*running.Lab
	restarts *restartLog
	// watching watches the nodes of a lab that this process measures; nil without any to watch.
	watching *watch.Here
	// control lets others change nodes of a lab that this process measures.
	control *control.Server
	// held is the lab's lock and journal while this process measures it; otherwise nil.
	held *holding
}

// Open finds a lab by its name.
func Open(name string) (*Lab, error) {
	l, err := running.Open(name)
	if err != nil {
		return nil, err
	}
	return &Lab{Lab: l, restarts: &restartLog{}}, nil
}

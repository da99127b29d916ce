package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"nines.dev/nines/result"
)

// GuestVerb is the verb of nines-node that follows packets through the kernel of a virtual machine: it takes an Inside,
// prints a line when it follows them, and prints a Followed when its input ends.
const GuestVerb = "stages"

// Inside says how to follow packets inside of a virtual machine.
type Inside struct {
	// Node is the machine's name.
	Node string `json:"node"`
	// UDPPort, IP and Every are those of Stages.
	UDPPort int `json:"udp_port"`
	IP      int `json:"ip"`
	Every   int `json:"every"`
}

// Followed is what was seen there, by the machine's own clock.
type Followed struct {
	Stages  []result.StageDelay `json:"stages"`
	Missing []string            `json:"missing,omitempty"`
}

// insideBuffer is the memory for the latest events of each CPU: nobody asks for events there.
const insideBuffer = 64 << 10

// insideReaders are the names of the engine's threads that read packets.
var insideReaders = []string{"nines-serve", "nines-measure"}

// FollowInside is GuestVerb. It needs what Start needs.
func FollowInside(input io.Reader, output io.Writer) error {
	var asked Inside
	in, out := json.NewDecoder(input), json.NewEncoder(output)
	if err := in.Decode(&asked); err != nil {
		return fmt.Errorf("read what to follow: %w", err)
	}
	recorder, err := Start(Config{BufferBytes: insideBuffer, Slowest: 1, Threads: readersInside(), Stages: &Stages{
		UDPPort: asked.UDPPort, IP: asked.IP, Every: asked.Every, Nodes: map[uint32]string{NetNamespace(os.Getpid()): asked.Node}}})
	if err != nil {
		return err
	}
	err = out.Encode(struct{}{})
	if err == nil {
		_, err = io.Copy(io.Discard, io.MultiReader(in.Buffered(), input))
	}
	recording, stopErr := recorder.Stop()
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	for i := range recording.Trace.Stages {
		recording.Trace.Stages[i].Guest = asked.Node
	}
	return out.Encode(Followed{Stages: recording.Trace.Stages, Missing: recording.Trace.Missing})
}

// readersInside are the threads of this machine's engines.
func readersInside() (list []result.TracedThread) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // a pattern that is right has no error
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		for _, t := range Threads(pid) {
			for _, name := range insideReaders {
				if t.Name == name {
					list = append(list, result.TracedThread{Role: result.RoleForwarder, Name: t.Name, PID: t.PID, TID: t.TID, CPU: t.CPU})
				}
			}
		}
	}
	return list
}

package traffic

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
)

// Recorded is the engines' record of every packet of a trial, valid until the next one.
type Recorded struct {
	// Sent and Received are files in the engine's format (docs/reference/engine-protocol.md).
	Sent, Received *os.File
	// SentLost and ReceivedLost are packets without a record, and Problems why.
	SentLost, ReceivedLost uint64
	Problems               []string
	// Unwritten is true if the disk was full. The files are then empty, to leave room for the rest
	// of the result.
	Unwritten bool
}

// recordFiles are the files that the engines record into. They have no name, so nothing is left of
// them however this process and the engines end. The engines inherit them open, so it does not
// matter which folders a node sees.
type recordFiles struct{ sent, received *os.File }

// The first file after the standard ones has number 3.
const (
	firstFile  = "fd:3"
	secondFile = "fd:4"
	thirdFile  = "fd:5"
)

func makeRecordFiles(folder string) (f recordFiles, err error) {
	if f.sent, err = unnamedFile(folder); err != nil {
		return f, err
	}
	f.received, err = unnamedFile(folder)
	return f, err
}

// unnamedFile makes a file without a name; on file systems that cannot do that (NFS), it removes
// the name at once.
func unnamedFile(folder string) (*os.File, error) {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), folder+"/(packets)"), nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("a file in %s for the record of packets: %w", folder, err)
	}
	file, err := os.CreateTemp(folder, ".packets-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("a file for the record of packets: %w", err)
	}
	return file, os.Remove(file.Name())
}

func (f recordFiles) none() bool { return f.sent == nil }

func (f recordFiles) close() error {
	var errs []error
	for _, file := range []*os.File{f.sent, f.received} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// recorded returns what a trial's engines wrote to the files; nil if they had none.
func (f recordFiles) recorded(results ...client.TrialResult) *Recorded {
	if f.none() {
		return nil
	}
	r := &Recorded{Sent: f.sent, Received: f.received}
	for _, result := range results {
		for _, one := range result.Recordings {
			if one.What == "sent" {
				r.SentLost += one.Lost
			} else {
				r.ReceivedLost += one.Lost
			}
			switch {
			case one.Error != "":
				r.Unwritten = true
				r.Problems = append(r.Problems, fmt.Sprintf("the record of packets %s cannot be written: %s", one.What, one.Error))
			case one.Lost > 0:
				r.Problems = append(r.Problems, fmt.Sprintf("the record of packets %s lacks %d: the disk is too slow for it", one.What, one.Lost))
			}
		}
	}
	if r.Unwritten {
		for _, file := range []*os.File{f.sent, f.received} {
			if err := file.Truncate(0); err != nil {
				r.Problems = append(r.Problems, err.Error())
			}
		}
	}
	return r
}

package ended

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/dropreason"
)

// object holds the programs; `make build` compiles them from their sources in bpf.
//
//go:embed bpf
var object embed.FS

// Watch counts where packets end, from its start until it is closed.
type Watch struct {
	collection *ebpf.Collection
	attached   []link.Link
	reasons    map[uint64]string
}

// The causes of ended.bpf.c.
const (
	dropped uint32 = iota
	redirected
	aborted
	refused
)

// end is the key of the programs' map.
type end struct{ Cause, Reason, Ifindex, Netns uint32 }

// End is packets that ended at one place, for one reason.
type End struct {
	// Reason is the kernel's name of it, such as NO_SOCKET.
	Reason string
	// Ifindex and Netns (the inode of its name space) are the interface; 0 where the kernel had forgotten it.
	Ifindex int
	Netns   uint64
	Packets uint64
}

// Start begins to count packets to and from the UDP port of engines. It needs root's rights and type information of the
// kernel (BTF); the kernel gives reasons since Linux 5.17.
func Start(udpPort int) (_ *Watch, err error) {
	text, err := object.ReadFile("bpf/ended.bpf.o")
	if err != nil {
		return nil, errors.New("this nines was built without its BPF programs; build it with make build")
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the programs: %w", err)
	}
	port := uint16(udpPort)
	if err := spec.Variables["udp_port"].Set(port>>8 | port<<8); err != nil {
		return nil, err
	}
	w := &Watch{reasons: dropreason.Names()}
	if len(w.reasons) == 0 {
		return nil, errors.New("this kernel does not say why it drops packets (Linux 5.17 with CONFIG_DEBUG_INFO_BTF does)")
	}
	if w.collection, err = ebpf.NewCollection(spec); err != nil {
		return nil, fmt.Errorf("load the programs: %w", err)
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	for name, program := range w.collection.Programs {
		one, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return nil, fmt.Errorf("attach %s: %w", name, err)
		}
		w.attached = append(w.attached, one)
	}
	return w, nil
}

// Close ends the counting.
func (w *Watch) Close() {
	for _, one := range w.attached {
		_ = one.Close() // the kernel detaches it in any case
	}
	w.collection.Close()
}

// Ends are what was counted, most packets first.
func (w *Watch) Ends() ([]End, error) {
	var list []End
	var key end
	var packets uint64
	ends := w.collection.Maps["ends"].Iterate()
	for ends.Next(&key, &packets) {
		list = append(list, End{w.reason(key), int(key.Ifindex), uint64(key.Netns), packets})
	}
	slices.SortFunc(list, func(a, b End) int { return int(b.Packets) - int(a.Packets) })
	return list, ends.Err()
}

func (w *Watch) reason(key end) string {
	switch key.Cause {
	case redirected:
		return "XDP_REDIRECT " + unix.ErrnoName(unix.Errno(key.Reason))
	case refused:
		return "XDP_REFUSED " + unix.ErrnoName(unix.Errno(key.Reason))
	case aborted:
		return "XDP_ABORTED"
	}
	if name := w.reasons[uint64(key.Reason)]; name != "" {
		return name
	}
	return fmt.Sprintf("reason %d", key.Reason)
}

package link

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/netns"
)

// uplinkPrograms are the programs of a shared management network; `make build` compiles them from their
// source in the same folder.
//
//go:embed tc
var uplinkPrograms embed.FS

// KindUplink is the use of an interface of the host, Name, by the lab's management network: programs with
// the name Token at its hooks for traffic control. The interface has the index Old in the network
// namespace that is found by Path and Cookie. Value is the lab's journal, and Target the ledger of those
// who use the hooks. Undo removes the programs, and the hooks with their last use if nines has made them.
var KindUplink = journal.Register("uplink", journal.Undo{Step: leaveUplink})

// UplinkToken is the name of a lab's programs, for the journal of that header.
func UplinkToken(h journal.Header) string { return h.Token + ":.uplink" }

// hooked is where a program is.
type hooked struct {
	name   string
	device netlink.Link
	hook   uint32
}

// uplinkHooks are where the programs of a shared network are. Those at the uplink come last: from then on
// frames leave it for the pair.
func uplinkHooks(uplink, device netlink.Link) []hooked {
	return []hooked{
		{"from_nodes", device, netlink.HANDLE_MIN_INGRESS},
		{"from_host", uplink, netlink.HANDLE_MIN_EGRESS},
		{"from_segment", uplink, netlink.HANDLE_MIN_INGRESS},
	}
}

// putPrograms puts the programs at the uplink and the pair's end, for the nodes of the plan, and takes
// away those of other nodes.
func (s *Site) putPrograms(handle *netlink.Handle, step journal.Step, uplink, device netlink.Link) error {
	step.Kind, step.Token, step.Value, step.Target = KindUplink, UplinkToken(s.Journal.Header), s.Journal.Path(), UplinkLedger
	objects, err := loadUplink(uplink.Attrs().Index, device.Attrs().Index, uplink.Attrs().HardwareAddr, nodeAddresses(s.Plan))
	if err != nil {
		return err
	}
	defer objects.Close()
	put := func() error {
		uses := &uplinkUses{}
		return ledger.File{Path: step.Target, Mode: 0o600}.Change(uses, func(save func() error) error {
			if err := makeHooks(handle, device); err != nil {
				return err
			}
			if err := useHooks(handle, step, uplink, uses, save); err != nil {
				return err
			}
			for _, h := range uplinkHooks(uplink, device) {
				if err := h.put(handle, objects.Programs[h.name], step.Token); err != nil {
					return err
				}
				fault.Point("at a hook of the uplink", h.name)
			}
			return nil
		})
	}
	for _, e := range s.Journal.Entries() {
		if e.Kind == KindUplink && e.Old == step.Old && e.Cookie == step.Cookie {
			return put() // for other nodes
		}
	}
	return s.Journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, put() })
}

// filters are all at a hook.
func (h hooked) filters(handle *netlink.Handle) ([]netlink.Filter, error) {
	list, err := netns.Whole(func() ([]netlink.Filter, error) { return handle.FilterList(h.device, h.hook) })
	if err != nil && !isAbsent(err) && !errors.Is(err, unix.EINVAL) { // EINVAL: it has no hooks
		return nil, fmt.Errorf("list the programs at %s: %w", h.device.Attrs().Name, err)
	}
	return list, nil
}

// ours are the lab's programs at a hook.
func (h hooked) ours(handle *netlink.Handle, token string) ([]*netlink.BpfFilter, error) {
	list, err := h.filters(handle)
	if err != nil {
		return nil, err
	}
	var found []*netlink.BpfFilter
	for _, f := range list {
		if program, is := f.(*netlink.BpfFilter); is && program.Name == token {
			found = append(found, program)
		}
	}
	return found, nil
}

// put puts a program at a hook, before all others there, and then takes away those that the lab had:
//
//	tc filter add dev DEVICE HOOK bpf direct-action object tc/uplink.bpf.o name TOKEN
func (h hooked) put(handle *netlink.Handle, program *ebpf.Program, token string) error {
	before, err := h.ours(handle, token)
	if err != nil {
		return err
	}
	priority, err := h.first(handle)
	if err != nil {
		return err
	}
	filter := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: h.device.Attrs().Index, Parent: h.hook, Protocol: unix.ETH_P_ALL, Priority: priority},
		Fd:          program.FD(), Name: token, DirectAction: true,
	}
	if err := handle.FilterAdd(filter); err != nil {
		err = fmt.Errorf("put the program %s at %s: %w", h.name, h.device.Attrs().Name, err)
		switch {
		case isAbsent(err) || isUnsupported(err):
			return missingHooks("the kernel takes no BPF programs there", err)
		case errors.Is(err, unix.EINVAL) && priority == 1:
			return exit.Wrongf("%w: another filter has priority 1 there; give it a larger number (tc filter show dev %s)", err, h.device.Attrs().Name)
		}
		return err
	}
	return remove(handle, before)
}

// usualPriority is that of a program where there is no other, with room for others before it.
const usualPriority = 100

// first is a priority before all that are at a hook. With the same, a program of BPF comes before those that
// are there (cls_bpf_change in net/sched/cls_bpf.c).
func (h hooked) first(handle *netlink.Handle) (uint16, error) {
	list, err := h.filters(handle)
	if err != nil {
		return 0, err
	}
	first := uint16(usualPriority + 1)
	for _, f := range list {
		first = min(first, f.Attrs().Priority)
	}
	return max(first-1, 1), nil
}

func remove(handle *netlink.Handle, programs []*netlink.BpfFilter) error {
	for _, program := range programs {
		program.Fd = -1
		if err := handle.FilterDel(program); err != nil && !isAbsent(err) {
			return fmt.Errorf("remove a program of nines: %w", err)
		}
	}
	return nil
}

// lostPrograms are those of a lab that are not at their hooks.
func lostPrograms(handle *netlink.Handle, uplink, device netlink.Link, token string) ([]hooked, error) {
	var lost []hooked
	for _, h := range uplinkHooks(uplink, device) {
		found, err := h.ours(handle, token)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			lost = append(lost, h)
		}
	}
	return lost, nil
}

func leaveUplink(_ context.Context, u journal.Undoing) error {
	uses := &uplinkUses{}
	return ledger.File{Path: u.Target, Mode: 0o600}.Change(uses, func(save func() error) error {
		key, use := uses.of(u.Step)
		delete(use.Labs, u.Value)
		err := withUplink(u, func(handle *netlink.Handle, uplink netlink.Link) error {
			left := 0
			// At the pair's end they go with the pair.
			for _, h := range uplinkHooks(uplink, nil)[1:] {
				ours, err := h.ours(handle, u.Token)
				if err == nil {
					err = remove(handle, ours)
				}
				if err != nil {
					return err
				}
				fault.Point("after removing a program of the uplink", h.name)
				others, err := h.filters(handle)
				if err != nil {
					return err
				}
				left += len(others)
			}
			if !use.Made || len(use.Labs) > 0 {
				return nil
			}
			if left > 0 {
				u.Notef("the queueing discipline clsact of %s is kept, as other programs use it", u.Name)
				return nil
			}
			return removeHooks(handle, uplink)
		})
		if err != nil {
			return err
		}
		if len(use.Labs) == 0 {
			delete(uses.Uplinks, key)
		}
		return save()
	})
}

// loadUplink loads the programs for an uplink, the pair's end and the nodes.
func loadUplink(uplink, device int, uplinkMAC net.HardwareAddr, nodes []net.HardwareAddr) (*ebpf.Collection, error) {
	text, err := uplinkPrograms.ReadFile("tc/uplink.bpf.o")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this nines was built without its BPF programs; build it with make build")
	}
	if err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the programs of an uplink: %w", err)
	}
	for name, value := range map[string]any{"uplink_index": uint32(uplink), "nodes_index": uint32(device), "uplink_address": addressKey(uplinkMAC)} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	for _, mac := range nodes {
		spec.Maps["node_addresses"].Contents = append(spec.Maps["node_addresses"].Contents, ebpf.MapKV{Key: addressKey(mac), Value: uint32(1)})
	}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, missingHooks("the kernel does not load the programs of an uplink", err)
	}
	return objects, nil
}

func missingHooks(reason string, err error) error {
	return exit.Lacking(&exit.MissingError{
		Capability: "management: {mode: shared}", Reason: reason, Err: err,
		Remedy: "use a kernel with CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF and CONFIG_BPF_SYSCALL, as Debian's has; or write uplink: with a bridge; or mode: private",
	})
}

// tryHooks tries, in a network namespace of its own, what a shared network needs of the kernel.
func tryHooks() error {
	ns, err := netns.New()
	if err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	loopback, err := handle.LinkByName("lo")
	if err != nil {
		return err
	}
	index := loopback.Attrs().Index
	objects, err := loadUplink(index, index, nil, nil)
	if err != nil {
		return err
	}
	defer objects.Close()
	if err := makeHooks(handle, loopback); err != nil {
		return err
	}
	return hooked{"from_segment", loopback, netlink.HANDLE_MIN_INGRESS}.put(handle, objects.Programs["from_segment"], "nines-try-"+strconv.Itoa(index))
}

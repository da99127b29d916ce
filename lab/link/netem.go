package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// netem has the kernel impair what an endpoint sends:
//
//	tc qdisc replace dev IF root netem limit N delay D J loss L% duplicate D% reorder R% corrupt C% rate R
//
// The device is nines' own and in the journal, and the queueing discipline goes away with it.
func (s *Site) netem(e plan.Endpoint, what spec.Impairment) error {
	holder, err := s.node(e.Node)
	if err != nil {
		return err
	}
	return inside(holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(e.Interface)
		if err != nil {
			return fmt.Errorf("find %s: %w", e.Interface, err)
		}
		err = handle.QdiscReplace(netemOf(device.Attrs().Index, what))
		// ENOENT: the kernel knows no such kind, and could not load its module.
		if errors.Is(err, unix.ENOENT) || isUnsupported(err) {
			return &exit.MissingError{
				Capability: host.FeatureNetem, Reason: "the kernel has no queueing discipline netem", Err: err,
				Remedy: "load its module (modprobe sch_netem), or use kind: xdp or switch, which nines impairs itself",
			}
		}
		return err
	})
}

// netemOf is an impairment in netem's units.
func netemOf(device int, what spec.Impairment) *netlink.Netem {
	microseconds := func(d spec.Duration) uint32 { return uint32(time.Duration(d) / time.Microsecond) }
	percent := func(share float64) float32 { return float32(share * 100) }
	const bitsPerByte = 8
	return netlink.NewNetem(netlink.QdiscAttrs{LinkIndex: device, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		netlink.NetemQdiscAttrs{
			Latency: microseconds(what.Delay), Jitter: microseconds(what.Jitter), Limit: uint32(what.Limit),
			Loss: percent(what.Loss), Duplicate: percent(what.Duplicate),
			ReorderProb: percent(what.Reorder), CorruptProb: percent(what.Corrupt),
			Rate64: uint64(what.Rate / bitsPerByte),
		})
}

package link

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// netem has the kernel impair what an endpoint sends:
//
//	tc qdisc replace dev IF root netem limit N delay D J loss L% duplicate D% reorder R% corrupt C% rate R 4
//
// The device is nines' own and in the journal, and the queueing discipline goes away with it.
func (s *Site) netem(e plan.Endpoint, what spec.Impairment) error {
	holder, err := s.node(e.Node)
	if err != nil {
		return err
	}
	return inside(holder, func(ns *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(e.Interface)
		if err != nil {
			return fmt.Errorf("find %s: %w", e.Interface, err)
		}
		qdisc := netemOf(device.Attrs().Index, what)
		err = ns.Do(func() error { return replaceNetem(qdisc) })
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

// replaceNetem does what netlink.QdiscReplace does, which cannot say that frames have an FCS.
func replaceNetem(qdisc *netlink.Netem) error {
	request := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	request.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(qdisc.LinkIndex), Handle: qdisc.Handle, Parent: qdisc.Parent})
	request.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(qdisc.Type())))
	request.AddData(netemOptions(qdisc))
	_, err := request.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// fcsBytes end a frame on the wire. The kernel does not count them (packet_time_ns in
// net/sched/sch_netem.c).
const fcsBytes = 4

// netemOptions are what netem_change in net/sched/sch_netem.c reads. What is 0 is there, too, as the
// kernel keeps what it is not told.
func netemOptions(qdisc *netlink.Netem) *nl.RtAttr {
	always := nl.TcNetemQopt{
		Latency: qdisc.Latency, Jitter: qdisc.Jitter, Limit: qdisc.Limit, Gap: qdisc.Gap, Loss: qdisc.Loss, Duplicate: qdisc.Duplicate,
	}
	options := nl.NewRtAttr(nl.TCA_OPTIONS, always.Serialize())
	reorder := nl.TcNetemReorder{Probability: qdisc.ReorderProb}
	options.AddRtAttr(nl.TCA_NETEM_REORDER, reorder.Serialize())
	corrupt := nl.TcNetemCorrupt{Probability: qdisc.CorruptProb}
	options.AddRtAttr(nl.TCA_NETEM_CORRUPT, corrupt.Serialize())
	rate := nl.TcNetemRate{Rate: uint32(min(qdisc.Rate64, math.MaxUint32)), PacketOverhead: fcsBytes}
	options.AddRtAttr(nl.TCA_NETEM_RATE, rate.Serialize())
	if qdisc.Rate64 > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_NETEM_RATE64, nl.Uint64Attr(qdisc.Rate64))
	}
	return options
}

package port

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/netns"
)

// OVNDatabase is where OVN's northbound database listens if each node has its own.
const OVNDatabase = "unix:/run/ovn/ovnnb_db.sock"

// OverlayMTU is the MTU of ports that set none. It leaves room for the tunnel's header on cards with an MTU of
// 1500, as OVN's Kubernetes networks do.
const OverlayMTU = 1400

// KindLogicalPort is a port, Name, that nines has added to the logical switch Target of OVN, whose
// northbound database is at Path, with the mark Value. The database survives a reboot.
var KindLogicalPort = journal.Register("logical port", journal.Undo{Lasting: true, Step: func(ctx context.Context, u journal.Undoing) error {
	return leaveForeign(u, withOVN(ctx, u.Path, func(ctx context.Context, o ovn) error { return o.remove(ctx, u.Name, u.Value) }))
}})

// takeLogical adds a port to a logical switch, with the pod's addresses and no others:
//
//	ovn-nbctl lsp-add SWITCH PORT -- lsp-set-addresses PORT "MAC IP …" -- lsp-set-port-security PORT "MAC IP …"
//
// This happens before the pod is made, which gives OVN time to compute its rules. The step is written only
// after the database has answered, because it could not be undone without the database.
func takeLogical(ctx context.Context, s site, _ *Held) error {
	at, err := s.chassis(ctx)
	if err != nil {
		return err
	}
	return withOVN(ctx, s.Port.Northbound, func(ctx context.Context, o ovn) error {
		step := journal.Step{Kind: KindLogicalPort, Path: s.Port.Northbound, Target: s.Port.Parent, Name: at.portName(s.Port), Value: at.mark(s)}
		return s.journal.Make(step, func() (journal.Learnt, error) {
			return journal.Learnt{}, o.add(ctx, s.Port.Parent, step.Name, step.Value, s.logicalAddress())
		})
	})
}

// logicalAddress returns the addresses of the pod's end in OVN's format (ovn-nb(5), "Logical_Switch_Port").
func (s site) logicalAddress() string {
	all := []string{s.MAC}
	for _, a := range s.All() {
		all = append(all, a.Addr().String())
	}
	return strings.Join(all, " ")
}

// addOverlay makes a veth pair with one end in the pod and the other in OVN's bridge:
//
//	ip link add NAME address … type veth peer name IF address MAC netns POD
//	ovs-vsctl add-port br-int NAME -- set Interface NAME external_ids:iface-id=PORT
func addOverlay(ctx context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		at, err := o.chassis(ctx)
		if err != nil {
			return err
		}
		// Device and port have the same name. Without this check, another program's port would be reported as a
		// device that already exists.
		if _, err := o.port(ctx, at.bridge, nodeName(s.Port.Name), s.mark); err != nil {
			return err
		}
		err = fromNode(func(handle *netlink.Handle) error {
			made, err = s.addPair(handle, pod, OverlayMTU, 0)
			return err
		})
		if err != nil {
			return err
		}
		if at.userspace {
			if err := s.withoutOffloads(pod); err != nil {
				return err
			}
		}
		return s.inOVS(ctx, o, at.bridge, at.device(s.Port))
	})
}

// withoutOffloads makes the pod compute its checksums and segment what it sends: a switch in userspace does
// neither.
func (s site) withoutOffloads(pod *netns.Namespace) error {
	return pod.Do(func() error {
		socket, err := ethtool.Open()
		if err != nil {
			return err
		}
		defer socket.Close()
		for _, f := range []ethtool.Feature{ethtool.TxChecksum, ethtool.TSO, ethtool.GSO} {
			if err := socket.Set(s.Interface, f, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// askAgain is the pause between two queries of a database.
const askAgain = 20 * time.Millisecond

// awaitOverlay waits until the node forwards the port's packets. ovn-controller reports that in the interface's
// row (ovn-controller(8), "ovn-installed").
func awaitOverlay(ctx context.Context, s site) error {
	return withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		return await.Until(ctx, await.Condition{What: "OVN has set up its rules for the port", Every: askAgain, Holds: func(ctx context.Context) error {
			row, err := o.row(ctx, "Interface", named(nodeName(s.Port.Name)), "external_ids")
			return await.Answer(words(row, "external_ids")["ovn-installed"] == "true", err)
		}})
	})
}

// restoreLogical makes again what another program has removed of a port.
func restoreLogical(ctx context.Context, s site, held *Held) error {
	at, err := s.chassis(ctx)
	if err != nil {
		return err
	}
	err = withOVN(ctx, s.Port.Northbound, func(ctx context.Context, o ovn) error {
		name := at.portName(s.Port)
		if row, err := o.port(ctx, name, at.mark(s)); err != nil || row != nil {
			return err
		}
		return o.add(ctx, s.Port.Parent, name, at.mark(s), s.logicalAddress())
	})
	if err != nil || held.Cookie == 0 { // it has no device yet
		return err
	}
	return withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		return o.restore(ctx, at.bridge, s.mark, at.device(s.Port))
	})
}

// forgottenLogical removes the ports that an earlier boot has left, because their records are gone.
func forgottenLogical(ctx context.Context, s site, held []Held) error {
	at, err := s.chassis(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range held {
		names = append(names, at.portName(h.Port))
	}
	return errors.Join(
		withOVN(ctx, s.Port.Northbound, func(ctx context.Context, o ovn) error {
			return o.forgotten(ctx, "Logical_Switch_Port", at.mark(s), names, takeOut(logicalSwitches))
		}),
		forgottenOVS(ctx, s, held))
}

// overlayAvailable returns nil if the node's Open vSwitch and OVN answer, and the logical switch exists.
func (p Port) overlayAvailable(ctx context.Context) error {
	if _, err := (site{Order: Order{Port: p}}).chassis(ctx); err != nil {
		return err
	}
	return withOVN(ctx, p.Northbound, func(ctx context.Context, o ovn) error {
		_, err := o.logicalSwitch(ctx, p.Parent)
		return err
	})
}

// chassis is a node in OVN's terms (ovn-controller(8), "Configuration").
type chassis struct {
	id, bridge string
	// userspace is true if the bridge forwards in a process instead of the kernel.
	userspace bool
}

// portName returns the logical port's name, which is unique in all of OVN.
func (c chassis) portName(p Port) string { return "nines-" + c.id + "-" + p.Name }

// mark returns the mark of our rows in OVN's database, which all nodes share.
func (c chassis) mark(s site) string { return c.id + " " + s.mark }

// device returns the port's interface in Open vSwitch.
func (c chassis) device(p Port) ovsdb.Row {
	return ovsdb.Row{"name": nodeName(p.Name), "external_ids": ovsdb.OvsMap{GoMap: map[any]any{"iface-id": c.portName(p)}}}
}

func (s site) chassis(ctx context.Context) (c chassis, err error) {
	return c, withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		c, err = o.chassis(ctx)
		return err
	})
}

// chassis reads what the node's Open vSwitch says about its OVN chassis.
func (o ovs) chassis(ctx context.Context) (c chassis, err error) {
	row, err := o.row(ctx, "Open_vSwitch", nil, "external_ids")
	if err != nil {
		return c, err
	}
	set := words(row, "external_ids")
	c.id, _ = set["system-id"].(string)
	if c.bridge, _ = set["ovn-bridge"].(string); c.bridge == "" {
		c.bridge = "br-int"
	}
	if c.id == "" {
		return c, errors.New("the node's Open vSwitch is not connected to OVN: it has no system-id; start ovn-controller on the node")
	}
	bridge, err := o.bridge(ctx, c.bridge)
	if err != nil {
		return c, fmt.Errorf("%w; start ovn-controller on the node", err)
	}
	c.userspace = bridge["datapath_type"] == "netdev"
	return c, nil
}

// logicalSwitches is the table of logical switches, which have the logical ports.
const logicalSwitches = "Logical_Switch"

// ovn is a connection to the northbound database (ovn-nb(5)).
type ovn struct{ database }

func withOVN(ctx context.Context, northbound string, f func(context.Context, ovn) error) error {
	return withDatabase(ctx, "OVN", "OVN_Northbound", strings.Split(northbound, ","), func(ctx context.Context, d database) error {
		return f(ctx, ovn{d})
	})
}

// port returns the row of our logical port, or nil if it does not exist.
func (o ovn) port(ctx context.Context, name, mark string) (ovsdb.Row, error) {
	return o.find(ctx, "Logical_Switch_Port", name, mark, "ovn-nbctl lsp-del "+name)
}

// logicalSwitch returns the row of a logical switch. OVN lets several of them have the same name.
func (o ovn) logicalSwitch(ctx context.Context, name string) (id string, err error) {
	rows, err := o.rows(ctx, logicalSwitches, named(name), "_uuid")
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0:
		return "", fmt.Errorf("OVN has no logical switch %s; create it (ovn-nbctl ls-add %s)", name, name)
	case len(rows) > 1:
		return "", fmt.Errorf("OVN has %d logical switches named %s; give each its own name", len(rows), name)
	}
	return identity(rows[0]), nil
}

// add adds a port to a logical switch. If our port already exists, it may be from an earlier boot, and add
// replaces it.
func (o ovn) add(ctx context.Context, logicalSwitch, name, mark, address string) error {
	id, err := o.logicalSwitch(ctx, logicalSwitch)
	if err != nil {
		return err
	}
	if err := o.remove(ctx, name, mark); err != nil {
		return err
	}
	only := ovsdb.OvsSet{GoSet: []any{address}}
	_, err = o.transact(ctx,
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: "Logical_Switch_Port", UUIDName: "port", Row: ovsdb.Row{
			"name": name, "addresses": only, "port_security": only, "external_ids": marked(mark),
		}},
		changePorts(logicalSwitches, []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: id})}, ovsdb.MutateOperationInsert, "port"),
	)
	return err
}

// remove removes our port, if it exists.
func (o ovn) remove(ctx context.Context, name, mark string) error {
	row, err := o.port(ctx, name, mark)
	if err != nil || row == nil {
		return err
	}
	_, err = o.transact(ctx, takeOut(logicalSwitches)(identity(row)))
	return err
}

package port

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"nines.dev/nines/journal"
)

// OVSDatabase is where Open vSwitch's database listens on a node.
const OVSDatabase = "/run/openvswitch/db.sock"

// KindOVSPort is a port, Name, that nines has added to the bridge Target of the Open vSwitch whose
// database listens at Path, with the mark Value. The database survives a reboot.
var KindOVSPort = journal.Register("ovs port", journal.Undo{Lasting: true, Step: func(ctx context.Context, u journal.Undoing) error {
	return leaveForeign(u, withOVS(ctx, u.Path, func(ctx context.Context, o ovs) error { return o.remove(ctx, u.Target, u.Name, u.Value) }))
}})

// leaveForeign notes a port that nines did not make: it existed before, so nines has not made its own.
func leaveForeign(u journal.Undoing, err error) error {
	if foreign := new(NotOursError); errors.As(err, &foreign) {
		u.Notef("%v", foreign)
		return nil
	}
	return err
}

// takeOVS adds a vhost-user port to a bridge. Through it, the switch connects to a socket that the pod makes,
// and connects again each time that the pod remakes it:
//
//	ovs-vsctl add-port BRIDGE PORT -- set Interface PORT type=dpdkvhostuserclient options:vhost-server-path=SOCKET
func takeOVS(ctx context.Context, s site, held *Held) error {
	if err := takeMemory(ctx, s, held); err != nil {
		return err
	}
	return withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		return s.inOVS(ctx, o, s.Port.Parent, s.vhostUser())
	})
}

// vhostUser returns the port's interface in Open vSwitch.
func (s site) vhostUser() ovsdb.Row {
	device := ovsdb.Row{
		"name": nodeName(s.Port.Name), "type": "dpdkvhostuserclient",
		"options": ovsdb.OvsMap{GoMap: map[any]any{"vhost-server-path": filepath.Join(s.sockets, SocketFile)}},
	}
	if s.Port.MTU > 0 {
		device["mtu_request"] = s.Port.MTU
	}
	return device
}

// restoreOVS makes a port again that another program has removed.
func restoreOVS(ctx context.Context, s site, held *Held) error {
	if err := restoreMemory(ctx, s, held); err != nil {
		return err
	}
	return withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		return o.restore(ctx, s.Port.Parent, s.mark, s.vhostUser())
	})
}

// inOVS journals a port of Open vSwitch and adds it to a bridge. Its database has already answered: a step must
// not be written before that, because it cannot be undone without the database.
func (s site) inOVS(ctx context.Context, o ovs, bridge string, device ovsdb.Row) error {
	step := journal.Step{Kind: KindOVSPort, Path: s.Port.Socket, Target: bridge, Name: nodeName(s.Port.Name), Value: s.mark}
	return s.journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, o.add(ctx, bridge, s.mark, device) })
}

// bridges is the table of bridges, which have the ports.
const bridges = "Bridge"

// ovs is a connection to the database of an Open vSwitch (ovs-vswitchd.conf.db(5)).
type ovs struct{ database }

func withOVS(ctx context.Context, socket string, f func(context.Context, ovs) error) error {
	return withDatabase(ctx, "Open vSwitch", "Open_vSwitch", []string{"unix:" + socket}, func(ctx context.Context, d database) error {
		return f(ctx, ovs{d})
	})
}

// port returns the row of our port, or nil if it does not exist.
func (o ovs) port(ctx context.Context, bridge, name, mark string) (ovsdb.Row, error) {
	return o.find(ctx, "Port", name, mark, fmt.Sprintf("ovs-vsctl del-port %s %s", bridge, name))
}

// bridge returns the row of a bridge.
func (o ovs) bridge(ctx context.Context, name string) (ovsdb.Row, error) {
	row, err := o.row(ctx, bridges, named(name), "datapath_type")
	if err == nil && row == nil {
		err = fmt.Errorf("the node's Open vSwitch has no bridge %s", name)
	}
	return row, err
}

// add adds a port with one interface to a bridge. If our port already exists, it may be from an earlier boot,
// with another socket, and add replaces it.
func (o ovs) add(ctx context.Context, bridge, mark string, device ovsdb.Row) error {
	name, _ := device["name"].(string)
	if _, err := o.bridge(ctx, bridge); err != nil {
		return err
	}
	if err := o.remove(ctx, bridge, name, mark); err != nil {
		return err
	}
	_, err := o.transact(ctx,
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: "Interface", Row: device, UUIDName: "device"},
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: "Port", UUIDName: "port", Row: ovsdb.Row{
			"name": name, "interfaces": ovsdb.UUID{GoUUID: "device"}, "external_ids": marked(mark),
		}},
		changePorts(bridges, named(bridge), ovsdb.MutateOperationInsert, "port"),
	)
	return err
}

// restore adds a port that another program has removed.
func (o ovs) restore(ctx context.Context, bridge, mark string, device ovsdb.Row) error {
	name, _ := device["name"].(string)
	if row, err := o.port(ctx, bridge, name, mark); err != nil || row != nil {
		return err
	}
	return o.add(ctx, bridge, mark, device)
}

// remove removes our port, if it exists.
func (o ovs) remove(ctx context.Context, bridge, name, mark string) error {
	row, err := o.port(ctx, bridge, name, mark)
	if err != nil || row == nil {
		return err
	}
	_, err = o.transact(ctx, takeOut(bridges)(identity(row)))
	return err
}

// forgottenOVS removes the ports that an earlier boot has left, because their records are gone.
func forgottenOVS(ctx context.Context, s site, held []Held) error {
	return withOVS(ctx, s.Port.Socket, func(ctx context.Context, o ovs) error {
		return o.forgotten(ctx, "Port", s.mark, nodeNames(held), takeOut(bridges))
	})
}

func nodeNames(held []Held) []string {
	var names []string
	for _, h := range held {
		names = append(names, nodeName(h.Port.Name))
	}
	return names
}

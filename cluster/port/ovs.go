package port

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"nines.dev/nines/journal"
)

// OVSDatabase is where Open vSwitch's database listens on a node.
const OVSDatabase = "/run/openvswitch/db.sock"

// KindOVSPort is a port, Name, that nines has added to the bridge Target of the Open vSwitch whose
// database listens at Path.
var KindOVSPort = journal.Register("ovs port", journal.Undo{Step: func(ctx context.Context, u journal.Undoing) error {
	err := withOVS(ctx, u.Path, func(o ovs) error { return o.remove(ctx, u.Target, u.Name) })
	if foreign := new(NotOursError); errors.As(err, &foreign) { // it was there before, and ours was not made
		u.Notef("%v", foreign)
		return nil
	}
	return err
}})

// openOVS adds a vhost-user port to a bridge, by which the switch connects to a socket that the pod makes,
// as often as that is made anew:
//
//	ovs-vsctl add-port BRIDGE PORT -- set Interface PORT type=dpdkvhostuserclient options:vhost-server-path=SOCKET
func openOVS(ctx context.Context, s site) error {
	if err := openMemory(ctx, s); err != nil {
		return err
	}
	step := journal.Step{Kind: KindOVSPort, Path: s.Port.Socket, Target: s.Port.Parent, Name: nodeName(s.Port.Name)}
	return s.journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, s.addToOVS(ctx) })
}

// addToOVS adds the port, unless it is there.
func (s site) addToOVS(ctx context.Context) error {
	return withOVS(ctx, s.Port.Socket, func(o ovs) error {
		return o.add(ctx, s.Port.Parent, nodeName(s.Port.Name), filepath.Join(s.sockets, SocketFile), s.Port.MTU)
	})
}

// ovs is a conversation with the database of an Open vSwitch (ovs-vswitchd.conf.db(5)).
type ovs struct{ client.Client }

// ovsPatience bounds it.
const ovsPatience = 20 * time.Second

func withOVS(ctx context.Context, socket string, f func(ovs) error) error {
	ctx, cancel := context.WithTimeout(ctx, ovsPatience)
	defer cancel()
	whole, err := model.NewClientDBModel("Open_vSwitch", nil) // operations are written here, and no rows kept
	if err != nil {
		return err
	}
	quiet := logr.Discard()
	c, err := client.NewOVSDBClient(whole, client.WithEndpoint("unix:"+socket), client.WithLogger(&quiet))
	if err != nil {
		return err
	}
	if err := c.Connect(ctx); err != nil {
		return fmt.Errorf("Open vSwitch's database does not answer at %s: %w", socket, err)
	}
	defer c.Close()
	return f(ovs{c})
}

// ourKey marks a port as ours, in its external_ids.
const ourKey = "nines-port"

// NotOursError means that Open vSwitch has a port of that name which nines did not make.
type NotOursError struct{ Bridge, Port string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("Open vSwitch has a port %s that nines did not make; rename it, or remove it (ovs-vsctl del-port %s %s)", e.Port, e.Bridge, e.Port)
}

// find returns the row of a port of ours; nothing if there is none.
func (o ovs) find(ctx context.Context, bridge, name string) (id string, err error) {
	rows, err := o.transact(ctx, ovsdb.Operation{
		Op: ovsdb.OperationSelect, Table: "Port", Where: named(name), Columns: []string{"_uuid", "external_ids"},
	})
	if err != nil || len(rows[0].Rows) == 0 {
		return "", err
	}
	row := rows[0].Rows[0]
	ids, _ := row["external_ids"].(ovsdb.OvsMap)
	if _, ours := ids.GoMap[ourKey]; !ours {
		return "", &NotOursError{Bridge: bridge, Port: name}
	}
	uuid, ok := row["_uuid"].(ovsdb.UUID)
	if !ok {
		return "", fmt.Errorf("the database says %v for the row of port %s", row["_uuid"], name)
	}
	return uuid.GoUUID, nil
}

// add adds a port to a bridge. One of ours that is there already may be of an earlier boot, with another
// socket: it is added anew.
func (o ovs) add(ctx context.Context, bridge, name, socket string, mtu int) error {
	if err := o.remove(ctx, bridge, name); err != nil {
		return err
	}
	device := ovsdb.Row{
		"name": name, "type": "dpdkvhostuserclient",
		"options": ovsdb.OvsMap{GoMap: map[any]any{"vhost-server-path": socket}},
	}
	if mtu > 0 {
		device["mtu_request"] = mtu
	}
	results, err := o.transact(ctx,
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: "Interface", Row: device, UUIDName: "device"},
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: "Port", UUIDName: "port", Row: ovsdb.Row{
			"name": name, "interfaces": ovsdb.UUID{GoUUID: "device"},
			"external_ids": ovsdb.OvsMap{GoMap: map[any]any{ourKey: "yes"}},
		}},
		ofBridge(bridge, ovsdb.MutateOperationInsert, "port"),
	)
	if err == nil && results[2].Count != 1 {
		// What belongs to no bridge the database has forgotten already.
		err = fmt.Errorf("Open vSwitch has no bridge %s", bridge)
	}
	return err
}

// remove removes a port of ours, if it is there.
func (o ovs) remove(ctx context.Context, bridge, name string) error {
	id, err := o.find(ctx, bridge, name)
	if err != nil || id == "" {
		return err
	}
	_, err = o.transact(ctx, ofBridge(bridge, ovsdb.MutateOperationDelete, id))
	return err
}

// ofBridge changes which ports a bridge has.
func ofBridge(bridge string, how ovsdb.Mutator, port string) ovsdb.Operation {
	ports := ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: port}}}
	return ovsdb.Operation{Op: ovsdb.OperationMutate, Table: "Bridge", Where: named(bridge), Mutations: []ovsdb.Mutation{*ovsdb.NewMutation("ports", how, ports)}}
}

func named(name string) []ovsdb.Condition {
	return []ovsdb.Condition{ovsdb.NewCondition("name", ovsdb.ConditionEqual, name)}
}

func (o ovs) transact(ctx context.Context, operations ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	results, err := o.Transact(ctx, operations...)
	if err != nil {
		return nil, fmt.Errorf("ask Open vSwitch's database: %w", err)
	}
	if wrong, err := ovsdb.CheckOperationResults(results, operations); err != nil {
		return nil, fmt.Errorf("Open vSwitch's database refuses: %w (%v)", err, wrong)
	}
	return results, nil
}

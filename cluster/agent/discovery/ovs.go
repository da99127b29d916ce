package discovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// OVS is a node's Open vSwitch. Its database has more information than its programs print, and a container
// with its sockets need not contain its programs.
type OVS struct {
	// Version is empty if it was not set at the start (ovs-ctl sets it).
	Version string
	// DPDK is true if ovs-vswitchd runs with DPDK, and DPDKVersion is that of DPDK.
	DPDK        bool
	DPDKVersion string
}

// ovsPatience limits a call to the database, which answers in milliseconds.
const ovsPatience = 5 * time.Second

// The sockets in Open vSwitch's folder (ovs-vswitchd(8), ovsdb-server(1)).
const (
	ovsDatabase = "db.sock"
	ovsControl  = "ovs-vswitchd.*.ctl"
)

// ovsSchema is the name of the database and of the table that has one row (ovs-vswitchd.conf.db(5)).
const ovsSchema = "Open_vSwitch"

// AskOVS queries the Open vSwitch whose sockets are in a folder; nil if none runs. The database outlives
// ovs-vswitchd and keeps what that wrote, so AskOVS also checks that ovs-vswitchd listens on its socket.
func AskOVS(ctx context.Context, folder string) (*OVS, error) {
	ctx, cancel := context.WithTimeout(ctx, ovsPatience)
	defer cancel()
	controls, err := filepath.Glob(filepath.Join(folder, ovsControl))
	if err != nil {
		return nil, fmt.Errorf("look for Open vSwitch in %s: %w", folder, err)
	}
	running := false
	for _, path := range controls {
		if connection, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
			running = true
			_ = connection.Close()
		}
	}
	if !running {
		return nil, nil
	}
	path := filepath.Join(folder, ovsDatabase)
	rows, err := selectOVS(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("query Open vSwitch's database at %s: %w", path, err)
	case len(rows) == 0:
		return nil, nil // the database is not initialised
	}
	return describe(rows[0]), nil
}

// selectOVS reads the row of the table Open_vSwitch.
func selectOVS(ctx context.Context, path string) ([]ovsdb.Row, error) {
	rowsNotKept, err := model.NewClientDBModel(ovsSchema, nil)
	if err != nil {
		return nil, err
	}
	quiet := logr.Discard()
	database, err := client.NewOVSDBClient(rowsNotKept, client.WithLogger(&quiet), client.WithEndpoint("unix:"+path))
	if err != nil {
		return nil, err
	}
	if err := database.Connect(ctx); err != nil {
		return nil, err
	}
	defer database.Close()
	question := ovsdb.Operation{Op: ovsdb.OperationSelect, Table: ovsSchema, Columns: []string{"ovs_version", "dpdk_initialized", "dpdk_version"}}
	answers, err := database.Transact(ctx, question)
	if err != nil {
		return nil, err
	}
	if _, err := ovsdb.CheckOperationResults(answers, []ovsdb.Operation{question}); err != nil {
		return nil, err
	}
	return answers[0].Rows, nil
}

// describe reads a row. A column without a value is an empty set (RFC 7047, 5.1), and so not a string.
func describe(row ovsdb.Row) *OVS {
	var o OVS
	o.Version, _ = row["ovs_version"].(string)
	o.DPDK, _ = row["dpdk_initialized"].(bool)
	if version, _ := row["dpdk_version"].(string); version != "none" { // "none": ovs-vswitchd was built without DPDK (lib/dpdk-stub.c)
		o.DPDKVersion = version
	}
	return &o
}

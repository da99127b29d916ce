package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
	"time"
)

// OVS is the Open vSwitch of a node. Its database tells more than its programs do, and a container
// that has its sockets need not have its programs.
type OVS struct {
	// Version is empty if whoever started it did not say (ovs-ctl does).
	Version string
	// DPDK is true if ovs-vswitchd runs with DPDK, and DPDKVersion is that of DPDK.
	DPDK        bool
	DPDKVersion string
}

// ovsPatience bounds a call of the database, which answers in milliseconds.
const ovsPatience = 5 * time.Second

// The sockets of Open vSwitch in its folder (ovs-vswitchd(8), ovsdb-server(1)).
const (
	ovsDatabase = "db.sock"
	ovsControl  = "ovs-vswitchd.*.ctl"
)

// AskOVS asks the Open vSwitch that has its sockets in a folder; nil if none runs. The database
// outlives ovs-vswitchd, and keeps what that wrote: so somebody has to listen at its socket, too.
func AskOVS(ctx context.Context, folder string) (*OVS, error) {
	ctx, cancel := context.WithTimeout(ctx, ovsPatience)
	defer cancel()
	controls, err := filepath.Glob(filepath.Join(folder, ovsControl))
	if err != nil {
		return nil, fmt.Errorf("look for Open vSwitch in %s: %w", folder, err)
	}
	running := false
	for _, path := range controls {
		if connection, err := dial(ctx, path); err == nil {
			running = true
			_ = connection.Close()
		}
	}
	if !running {
		return nil, nil
	}
	path := filepath.Join(folder, ovsDatabase)
	connection, err := dial(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the database of Open vSwitch: %w", err)
	}
	defer func() { _ = connection.Close() }()
	deadline, _ := ctx.Deadline()
	if err := connection.SetDeadline(deadline); err != nil {
		return nil, err
	}
	found, err := ask(connection)
	if err != nil {
		return nil, fmt.Errorf("ask the database of Open vSwitch at %s: %w", path, err)
	}
	return found, nil
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// query reads the one row of the table Open_vSwitch (RFC 7047, 4.1.3 and 5.2.2; the columns are in
// ovs-vswitchd.conf.db(5)).
const query = `{"id":0,"method":"transact","params":["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],` +
	`"columns":["ovs_version","dpdk_initialized","dpdk_version"]}]}`

// mostAnswer bounds what is read of an answer, which has some hundred bytes.
const mostAnswer = 1 << 20

func ask(connection io.ReadWriter) (*OVS, error) {
	if _, err := io.WriteString(connection, query); err != nil {
		return nil, err
	}
	var text json.RawMessage
	if err := json.NewDecoder(io.LimitReader(connection, mostAnswer)).Decode(&text); err != nil {
		return nil, err
	}
	return parseAnswer(text)
}

// parseAnswer reads the answer to query.
func parseAnswer(text []byte) (*OVS, error) {
	var answer struct {
		Error  json.RawMessage `json:"error"`
		Result []struct {
			Error   string `json:"error"`
			Details string `json:"details"`
			Rows    []struct {
				Version     optional `json:"ovs_version"`
				DPDK        bool     `json:"dpdk_initialized"`
				DPDKVersion optional `json:"dpdk_version"`
			} `json:"rows"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("its answer is not as RFC 7047 says: %w", err)
	}
	switch {
	case len(answer.Error) > 0 && string(answer.Error) != "null":
		return nil, fmt.Errorf("it refuses: %s", answer.Error)
	case len(answer.Result) == 0:
		return nil, errors.New("its answer has no result")
	case answer.Result[0].Error != "":
		return nil, fmt.Errorf("it refuses: %s: %s", answer.Result[0].Error, answer.Result[0].Details)
	case len(answer.Result[0].Rows) == 0:
		return nil, nil // nobody has set it up
	}
	row := answer.Result[0].Rows[0]
	if row.DPDKVersion == "none" { // an ovs-vswitchd that was built without (lib/dpdk-stub.c)
		row.DPDKVersion = ""
	}
	return &OVS{Version: string(row.Version), DPDK: row.DPDK, DPDKVersion: string(row.DPDKVersion)}, nil
}

// optional is a string that a column may lack, which is then ["set",[]] (RFC 7047, 5.1).
type optional string

func (o *optional) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		*o = ""
		return nil
	}
	return json.Unmarshal(text, (*string)(o))
}

package link

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// ovsInterface is a row of the table Interface (ovs-vswitchd.conf.db(5)). A value that is absent is the empty
// set, ["set",[]] (RFC 7047, 5.1).
type ovsInterface struct {
	Name   string `json:"name"`
	OFPort any    `json:"ofport"`
	Error  any    `json:"error"`
}

// works is false if ovs-vswitchd could not make the port: then its number is -1, or it has none.
func (i ovsInterface) works() (reason string, works bool) {
	reason, _ = i.Error.(string)
	number, given := i.OFPort.(float64)
	return reason, reason == "" && given && number >= 0
}

// ovsInterfaces asks ovsdb-server at a socket (RFC 7047, 4.1.3 and 5.2.2).
func ovsInterfaces(ctx context.Context, socket string) ([]ovsInterface, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// A read that ctx ends is a net.Error.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	const question = `{"id":0,"method":"transact","params":["Open_vSwitch",{"op":"select","table":"Interface","where":[],"columns":["name","ofport","error"]}]}`
	if _, err := conn.Write([]byte(question)); err != nil {
		return nil, err
	}
	return readInterfaces(json.NewDecoder(conn))
}

func readInterfaces(answers *json.Decoder) ([]ovsInterface, error) {
	var answer struct {
		Error  any
		Result []struct {
			Error, Details string
			Rows           []ovsInterface
		}
	}
	if err := answers.Decode(&answer); err != nil {
		return nil, fmt.Errorf("read ovsdb-server's answer: %w", err)
	}
	if answer.Error != nil || len(answer.Result) != 1 || answer.Result[0].Error != "" {
		return nil, fmt.Errorf("ovsdb-server refuses to tell its interfaces: %+v", answer)
	}
	return answer.Result[0].Rows, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/plan"
)

// setUpReceiving sets up the receive modes of a node's interfaces, and prints what it made.
func setUpReceiving(input io.Reader, output io.Writer) error {
	var n plan.Node
	if err := json.NewDecoder(input).Decode(&n); err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	if err := os.Setenv(kbp.CacheVariable, node.GuestCache); err != nil {
		return err
	}
	records, err := receive.SetUpInside(context.Background(), n, node.GuestPoller)
	if err != nil {
		return err
	}
	return json.NewEncoder(output).Encode(records)
}

// received prints what receives at interfaces now.
func received(input io.Reader, output io.Writer) error {
	var records []receive.Record
	if err := json.NewDecoder(input).Decode(&records); err != nil {
		return fmt.Errorf("read the records: %w", err)
	}
	return json.NewEncoder(output).Encode(receive.StatesInside(records))
}

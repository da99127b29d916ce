package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nines.dev/nines/lab/running"
)

// iperf3Rates returns the packets per second that iperf3 sent over UDP at an unlimited rate, and
// those that its server received.
func iperf3Rates(ctx context.Context, a *arena) (sent, received float64, err error) {
	near, far := a.near(), a.far()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The server ends after one client.
	server, err := a.lab.Command(ctx, far.node, []string{"iperf3", "-s", "-1", "-B", far.ip}, running.ExecOptions{CPUs: []int{far.cpu}, Scheduled: true})
	if err != nil {
		return 0, 0, err
	}
	if err := server.Start(); err != nil {
		return 0, 0, fmt.Errorf("start the iperf3 server: %w", err)
	}
	time.Sleep(300 * time.Millisecond) // it does not report when it is ready
	client, err := a.lab.Command(ctx, near.node, []string{
		"iperf3", "-c", far.ip, "-u", "-b", "0", "-l", strconv.Itoa(sockperfPayloadBytes),
		"-t", strconv.Itoa(throughputSeconds), "--json",
	}, running.ExecOptions{CPUs: []int{near.cpu}, Scheduled: true})
	var out []byte
	if err == nil {
		out, err = client.Output()
	}
	if err != nil {
		cancel()
		return 0, 0, errors.Join(fmt.Errorf("iperf3: %w: %s", err, out), server.Wait())
	}
	if err := server.Wait(); err != nil {
		return 0, 0, fmt.Errorf("the iperf3 server: %w", err)
	}
	return iperf3Figures(out)
}

// iperf3Figures reads the client's JSON: it counts what it sent, and the server tells it what was
// lost.
func iperf3Figures(out []byte) (sent, received float64, err error) {
	var said struct {
		End struct {
			Sum struct {
				Seconds float64 `json:"seconds"`
				Packets float64 `json:"packets"`
				Lost    float64 `json:"lost_packets"`
			} `json:"sum"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return 0, 0, fmt.Errorf("iperf3's JSON: %w", err)
	}
	sum := said.End.Sum
	if said.Error != "" || sum.Seconds == 0 || sum.Packets == 0 {
		return 0, 0, fmt.Errorf("iperf3 sent nothing: %s", said.Error)
	}
	return sum.Packets / sum.Seconds, (sum.Packets - sum.Lost) / sum.Seconds, nil
}

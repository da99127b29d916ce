package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestFollowInside: this host takes the part of the guest, which is told what to follow and until when.
func TestFollowInside(t *testing.T) {
	labtest.Root(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	to := conn.LocalAddr().(*net.UDPAddr)
	asks, asked := io.Pipe()
	tells, told := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := FollowInside(asks, told)
		_ = told.CloseWithError(err)
		ended <- err
	}()
	answers := json.NewDecoder(tells)
	if err := json.NewEncoder(asked).Encode(Inside{Node: "guest", UDPPort: to.Port}); err != nil {
		t.Fatal(err)
	}
	if err := answers.Decode(&struct{}{}); err != nil {
		t.Fatal(err)
	}
	const packets = 20
	for id := range uint32(packets) {
		// docs/reference/engine-protocol.md
		packet := binary.LittleEndian.AppendUint32(nil, id)
		packet = binary.LittleEndian.AppendUint32(append(packet, 0x55, 1), 0)
		packet = binary.LittleEndian.AppendUint64(packet, counter())
		if _, err := conn.WriteToUDP(packet, to); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadFromUDP(packet); err != nil {
			t.Fatal(err)
		}
	}
	if err := asked.Close(); err != nil {
		t.Fatal(err)
	}
	var seen Followed
	if err := answers.Decode(&seen); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var most uint64
	for _, s := range seen.Stages {
		if s.Guest != "guest" || s.Device != "guest:lo" {
			t.Errorf("%+v", s)
		}
		most = max(most, s.Delay.Count)
	}
	if most < packets {
		t.Errorf("at most %d of %d packets were followed between two stages: %+v", most, packets, seen.Stages)
	}
}

func TestFollowInsideOfWhatIsNoQuestion(t *testing.T) {
	if err := FollowInside(strings.NewReader("?"), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "read what to follow") {
		t.Error(err)
	}
}

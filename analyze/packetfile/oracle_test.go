package packetfile_test

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"

	"nines.dev/nines/analyze/packetfile"
)

func captureInfo(p packetfile.Packet) gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: time.Unix(0, p.TimeNs), CaptureLength: len(p.Data), Length: int(p.Length)}
}

// gopacketReads returns what another implementation finds in a pcap or pcapng file.
func gopacketReads(data []byte) ([]packetfile.Packet, error) {
	var source gopacket.PacketDataSource
	var err error
	if len(data) > 4 && data[0] == 0x0a {
		source, err = pcapgo.NewNgReader(bytes.NewReader(data), pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	} else {
		source, err = pcapgo.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil, err
	}
	var all []packetfile.Packet
	for {
		data, ci, err := source.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, packetfile.Packet{TimeNs: ci.Timestamp.UnixNano(), Data: data, Length: uint32(ci.Length), Interface: uint32(ci.InterfaceIndex)})
	}
}

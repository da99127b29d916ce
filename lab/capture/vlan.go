package capture

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The kernel takes the outer VLAN tag off a frame before a packet socket sees it, and keeps it
// beside the frame: struct tpacket_auxdata in linux/if_packet.h, packet(7).
const (
	auxdataBytes = 20
	auxdataTCI   = 16 // offset of tp_vlan_tci
	auxdataTPID  = 18
	tagBytes     = 4
	tagAt        = 12 // behind the MAC addresses, IEEE 802.1Q
)

// outerTag returns the tag that an auxdata message has; false if the frame had none.
func outerTag(auxdata []byte) (tag [tagBytes]byte, tagged bool) {
	if len(auxdata) < auxdataBytes {
		return tag, false
	}
	status := binary.NativeEndian.Uint32(auxdata)
	if status&unix.TP_STATUS_VLAN_VALID == 0 {
		return tag, false
	}
	protocol := uint16(unix.ETH_P_8021Q) // before Linux 3.14 the only one
	if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		protocol = binary.NativeEndian.Uint16(auxdata[auxdataTPID:])
	}
	binary.BigEndian.PutUint16(tag[:], protocol)
	binary.BigEndian.PutUint16(tag[2:], binary.NativeEndian.Uint16(auxdata[auxdataTCI:]))
	return tag, true
}

// putTag restores the tag of a frame that begins tagBytes into the buffer, and returns the frame.
// It moves only the addresses.
func putTag(buffer []byte, tag [tagBytes]byte) []byte {
	if len(buffer) < tagBytes+tagAt {
		return buffer[tagBytes:]
	}
	copy(buffer, buffer[tagBytes:][:tagAt])
	copy(buffer[tagAt:], tag[:])
	return buffer
}

package ethtool

import (
	"fmt"
	"unsafe"
)

// Coalescing is a device's interrupt moderation, as ethtool -c shows it.
type Coalescing struct {
	RxUS     int  `json:"rx_us"`
	RxFrames int  `json:"rx_frames"`
	TxUS     int  `json:"tx_us"`
	Adaptive bool `json:"adaptive,omitempty"` // adapts to received packets
}

// coalesce is the start of struct ethtool_coalesce (include/uapi/linux/ethtool.h);
// the kernel fills in the whole struct, 23 words.
type coalesce struct {
	command                 uint32
	rxUsecs, rxFrames       uint32
	rxUsecsIRQ, rxFramesIRQ uint32
	txUsecs, txFrames       uint32
	txUsecsIRQ, txFramesIRQ uint32
	statsUsecs              uint32
	adaptiveRx, adaptiveTx  uint32
	others                  [11]uint32
}

// Coalescing reads a device's interrupt moderation, which needs no privileges. Devices without their
// own interrupts refuse.
func (s *Socket) Coalescing(device string) (Coalescing, error) {
	is := coalesce{command: 0x0e} // ETHTOOL_GCOALESCE
	if err := s.pass(device, unsafe.Pointer(&is)); err != nil {
		return Coalescing{}, fmt.Errorf("read the interrupt moderation of %s: %w", device, err)
	}
	return Coalescing{RxUS: int(is.rxUsecs), RxFrames: int(is.rxFrames), TxUS: int(is.txUsecs), Adaptive: is.adaptiveRx != 0}, nil
}

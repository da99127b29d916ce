package packetfile

const (
	optionFlags     = 2 // of a packet, like the next
	optionDropCount = 4

	flagsDirection = 3 // 1 is inbound, 2 outbound
)

// packetOptions takes the options of a packet, section 4.3.
func (r *Reader) packetOptions(where uint32, options []byte) {
	s := &r.pcapng
	s.options(options, func(code uint16, value []byte) {
		switch {
		case code == optionFlags && len(value) == 4:
			switch s.u32(value) & flagsDirection {
			case 1:
				s.direction = In
			case 2:
				s.direction = Out
			}
		case code == optionDropCount && len(value) == 8:
			r.lost(where, s.u64(value))
		}
	})
}

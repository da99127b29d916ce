# A router of IPv4 and UDP by packet sockets. With an argument it spoils UDP checksums.
import os, socket, sys

mac = lambda name: bytes.fromhex(os.environ[name].replace(":", ""))
came, goes = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x800)) for _ in range(2))
came.bind(("in", 0x800))
goes.bind(("out", 0))
print("routing", flush=True)
while True:
    frame, where = came.recvfrom(2048)
    if where[2] == socket.PACKET_OUTGOING or frame[23] != socket.IPPROTO_UDP:
        continue
    frame = bytearray(frame)
    frame[0:6], frame[6:12] = mac("NINES_OUT_PEER_MAC"), mac("NINES_OUT_MAC")
    frame[22] -= 1  # TTL; the header's checksum as RFC 1141 has it
    sum = int.from_bytes(frame[24:26], "big") + 0x100
    frame[24:26] = ((sum & 0xFFFF) + (sum >> 16)).to_bytes(2, "big")
    if len(sys.argv) > 1:
        frame[40] ^= 1
    goes.send(frame)

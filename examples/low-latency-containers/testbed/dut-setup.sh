#!/bin/sh -e
# Device under test: forwards between its ports. The papers start libmoon's l2-forward here; the
# kernel's bridge needs no DPDK. It is gone with the node.
rx=$(pos_get_variable port_rx)
tx=$(pos_get_variable port_tx)
ip link add forwarder type bridge
for port in "$rx" "$tx"; do
	ip link set "$port" master forwarder 2>/dev/null || brctl addif forwarder "$port"
done
ip link set forwarder up
pos_set_variable -g forwarder "bridge of $(uname -r)"

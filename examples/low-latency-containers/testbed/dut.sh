#!/bin/sh -e
# Device under test: reports what it forwarded with, and counts packets.
port=$(pos_get_variable port_tx)
sent() { cat "/sys/class/net/$port/statistics/tx_packets"; }

before=$(sent) # the generator sends as soon as all are ready
pos_sync --tag ready
pos_sync --tag sent
pos_get_variable --from-global forwarder
echo $(($(sent) - before)) >/tmp/forwarded
pos_upload --loop /tmp/forwarded
rm /tmp/forwarded

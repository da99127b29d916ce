#!/bin/sh -e
# Load generator: sends packets at a rate. The papers run here
#
#   MoonGen examples/moonsniff/traffic-gen.lua -x 64 --fix-packetrate RATE --packets N --flows 10 --burst 1 TX RX
#
# ping sends to a multicast address that nobody answers: each packet has its number, by which the
# captures are compared.
port=$(pos_get_variable port_tx)
rate=$(pos_get_variable --from-loop packet_rate)
packets=$(pos_get_variable --from-global packets)
payload=$(pos_get_variable --from-global payload)
interval=$(awk "BEGIN { print 1 / $rate }")

pos_sync --tag ready
echo "$packets packets at $rate a second"
pos_run --loop generator -- ping -q -I "$port" -i "$interval" -c "$packets" -s "$payload" -W 1 224.0.0.200
pos_wait --loop generator || true # 1: no host answered, as intended
pos_sync --tag sent

#!/bin/sh -e
# Timestamper: captures what goes into the device under test and what comes out of it. The papers run
# MoonSniff's sniffer.lua PRE POST --capture --snaplen 84 here, for a fixed time; a barrier needs no
# time.
pre=$(pos_get_variable port_pre)
post=$(pos_get_variable port_post)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

capture() {
	pos_run --loop "$1" -- tcpdump -i "$2" -Z root -U -s 84 --time-stamp-precision=nano -w "$folder/$1.pcap" icmp
	# It has opened the port when its file has a header.
	until [ -s "$folder/$1.pcap" ]; do sleep 0.05; done
}
capture latencies-pre "$pre"
capture latencies-post "$post"
pos_sync --tag ready
pos_sync --tag sent
sleep 0.2 # what is still on its way
pos_kill --loop latencies-pre
pos_kill --loop latencies-post
pos_upload --loop "$folder/latencies-pre.pcap" "$folder/latencies-post.pcap"

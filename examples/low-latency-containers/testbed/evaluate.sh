#!/bin/sh -e
# Evaluation: the latency of every packet from the timestamper's captures, one trial after another.
result=${1:?give the folder of a result, such as results/latest}
for trial in "$result"/scripts/[0-9]*; do
	uploads=$trial/timestamper/uploads
	echo "trial $(basename "$trial")"
	"${NINES:-nines}" analyze "$uploads/latencies-pre.pcap" "$uploads/latencies-post.pcap"
done

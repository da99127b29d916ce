#!/bin/sh -e
# What the papers install on the host of the containers and on the other machines. nines moves tasks,
# interrupts and RCU off the nodes' CPUs (isolation:, tuning:), and makes containers and their
# interfaces, so what is left is to see that the programs are there.
for program in ping tcpdump; do
	command -v "$program" >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
	echo "this host lacks$missing: apt-get install iputils-ping tcpdump" >&2
	exit 1
fi

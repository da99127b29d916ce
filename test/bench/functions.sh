#!/bin/sh
# Attaches virtual functions to a namespace and takes them back, by the plugins beside this file in turns, and prints a
# line "PLUGIN ADD-SECONDS DEL-SECONDS" each time. Runs in the laboratory, as CNI's runtime.
set -eu
here=$(dirname "$0")
rounds=$1
card=/sys/class/net/eth0/device
echo 1 >$card/sriov_numvfs
until ls $card/virtfn0/net >/dev/null 2>&1; do sleep 0.1; done
function=$(basename "$(readlink $card/virtfn0)")
ip netns add pod
export CNI_NETNS=/var/run/netns/pod CNI_IFNAME=net1 CNI_PATH="$here"

# call PLUGIN COMMAND: the seconds that it takes.
call() {
	case $1 in
	nines-cni) config='"type": "nines", "tier": "sriov", "parent": "eth0", "deviceID": "sriov-eth0-1", "portsFolder": "/run/ports"' ;;
	sriov) config="\"type\": \"sriov\", \"deviceID\": \"$function\"" ;;
	esac
	began=$(date +%s%N)
	echo "{\"cniVersion\": \"1.0.0\", \"name\": \"fast\", \"vlan\": 7, $config}" |
		CNI_COMMAND=$2 CNI_CONTAINERID=$1 CNI_ARGS="IgnoreUnknown=1;K8S_POD_UID=$1" "$here/$1" >/run/answer || {
		cat /run/answer >&2
		exit 1
	}
	ended=$(date +%s%N)
	awk "BEGIN {print ($ended - $began) / 1e9}"
}

for _ in $(seq "$rounds"); do
	for plugin in nines-cni sriov; do
		added=$(call $plugin ADD)
		ip -n pod link show net1 | grep -q UP # what the pod needs
		echo "$plugin $added $(call $plugin DEL)"
		until ls $card/virtfn0/net >/dev/null 2>&1; do sleep 0.1; done
	done
done

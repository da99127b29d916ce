package netfilter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// families are nftables' names of families (include/uapi/linux/netfilter.h).
var families = map[byte]string{1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}

// nft lists the chains of nftables.
func nft() ([]Filter, error) {
	if !nftThere() {
		return nil, nil
	}
	chains := map[string]*Filter{}
	at := func(family byte, attributes map[uint16][]byte, table, chain uint16) *Filter {
		where := fmt.Sprintf("nft %s %s %s", families[family], text(attributes[table]), text(attributes[chain]))
		if chains[where] == nil {
			chains[where] = &Filter{Where: where}
		}
		return chains[where]
	}
	err := dump(unix.NFT_MSG_GETCHAIN, func(family byte, attributes map[uint16][]byte) {
		policy := attributes[unix.NFTA_CHAIN_POLICY]
		at(family, attributes, unix.NFTA_CHAIN_TABLE, unix.NFTA_CHAIN_NAME).Drops = len(policy) == 4 && binary.BigEndian.Uint32(policy) == 0 // NF_DROP
	})
	if err == nil {
		err = dump(unix.NFT_MSG_GETRULE, func(family byte, attributes map[uint16][]byte) {
			at(family, attributes, unix.NFTA_RULE_TABLE, unix.NFTA_RULE_CHAIN).Rules++
		})
	}
	var list []Filter
	for _, f := range chains {
		if f.Rules > 0 || f.Drops {
			list = append(list, *f)
		}
	}
	return list, err
}

// nftThere is false where the kernel would have to load nftables to be asked. A kernel without modules has them
// built in, or says that it does not know the message.
func nftThere() bool {
	loaded, err := os.ReadFile("/proc/modules")
	if err != nil || strings.Contains("\n"+string(loaded), "\nnf_tables ") {
		return true
	}
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return true
	}
	builtIn, err := os.ReadFile("/lib/modules/" + unix.ByteSliceToString(name.Release[:]) + "/modules.builtin")
	return err == nil && strings.Contains(string(builtIn), "/nf_tables.ko")
}

// dump calls f with what the kernel lists of one kind of object.
func dump(message int, f func(family byte, attributes map[uint16][]byte)) error {
	request := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|message, unix.NLM_F_DUMP)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	messages, err := request.Execute(unix.NETLINK_NETFILTER, 0)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return nil // a kernel without it
	case err != nil:
		return fmt.Errorf("list the rules of nftables: %w", err)
	}
	for _, m := range messages {
		if len(m) < nl.SizeofNfgenmsg {
			continue
		}
		list, err := nl.ParseRouteAttr(m[nl.SizeofNfgenmsg:])
		if err != nil {
			return fmt.Errorf("read the rules of nftables: %w", err)
		}
		attributes := map[uint16][]byte{}
		for _, a := range list {
			attributes[a.Attr.Type&nl.NLA_TYPE_MASK] = a.Value
		}
		f(m[0], attributes)
	}
	return nil
}

func text(value []byte) string { return unix.ByteSliceToString(value) }

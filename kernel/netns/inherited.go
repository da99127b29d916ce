package netns

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// conf is what the kernel itself gives the folders all and default of net.ipv4.conf and net.ipv6.conf, where it differs
// between the two "all/default" (ipv4_devconf and ipv4_devconf_dflt in net/ipv4/devinet.c, ipv6_devconf and
// ipv6_devconf_dflt in net/ipv6/addrconf.c, Linux 6.18; older kernels have fewer and the same values). What is not
// listed, nines leaves as it is.
var conf = map[string]map[string]string{
	"ipv4": {
		"accept_local": "0", "accept_redirects": "1", "accept_source_route": "0/1", "arp_accept": "0", "arp_announce": "0",
		"arp_evict_nocarrier": "1", "arp_filter": "0", "arp_ignore": "0", "arp_notify": "0", "bc_forwarding": "0",
		"bootp_relay": "0", "disable_policy": "0", "disable_xfrm": "0", "drop_gratuitous_arp": "0",
		"drop_unicast_in_l2_multicast": "0", "force_igmp_version": "0", "forwarding": "0",
		"igmpv2_unsolicited_report_interval": "10000", "igmpv3_unsolicited_report_interval": "1000",
		"ignore_routes_with_linkdown": "0", "log_martians": "0", "medium_id": "0", "promote_secondaries": "0",
		"proxy_arp": "0", "proxy_arp_pvlan": "0", "route_localnet": "0", "rp_filter": "0", "secure_redirects": "1",
		"send_redirects": "1", "shared_media": "1", "src_valid_mark": "0", "tag": "0",
	},
	"ipv6": {
		"accept_dad": "0/1", "accept_ra": "1", "accept_ra_defrtr": "1", "accept_ra_from_local": "0",
		"accept_ra_min_hop_limit": "1", "accept_ra_min_lft": "0", "accept_ra_mtu": "1", "accept_ra_pinfo": "1", "accept_ra_rt_info_max_plen": "0",
		"accept_ra_rt_info_min_plen": "0", "accept_ra_rtr_pref": "1", "accept_redirects": "1", "accept_source_route": "0",
		"accept_untracked_na": "0", "addr_gen_mode": "0", "autoconf": "1", "dad_transmits": "1", "disable_ipv6": "0",
		"disable_policy": "0", "drop_unicast_in_l2_multicast": "0", "drop_unsolicited_na": "0", "enhanced_dad": "1",
		"force_forwarding": "0", "force_mld_version": "0", "force_tllao": "0", "forwarding": "0", "hop_limit": "64",
		"ignore_routes_with_linkdown": "0", "keep_addr_on_down": "0", "max_addresses": "16", "max_desync_factor": "600",
		"mldv1_unsolicited_report_interval": "10000", "mldv2_unsolicited_report_interval": "1000",
		"ndisc_evict_nocarrier": "1", "ndisc_notify": "0", "ndisc_tclass": "0", "optimistic_dad": "0", "proxy_ndp": "0",
		"ra_defrtr_metric": "1024", "ra_honor_pio_life": "0", "ra_honor_pio_pflag": "0",
		"regen_max_retry": "3", "regen_min_advance": "2", "router_probe_interval": "60", "router_solicitation_delay": "1",
		"router_solicitation_interval": "4", "router_solicitation_max_interval": "3600", "router_solicitations": "-1",
		"rpl_seg_enabled": "0", "seg6_enabled": "0",
		"suppress_frag_ndisc": "1", "temp_prefered_lft": "86400", "temp_valid_lft": "604800", "use_oif_addrs_only": "0",
		"use_optimistic": "0", "use_tempaddr": "0",
	},
}

// Defaults are the sysctls of interfaces in general that a network namespace has from its kernel, in the order in which
// they can be written: forwarding changes others.
func Defaults() []Sysctl {
	var list []Sysctl
	for _, family := range []string{"ipv4", "ipv6"} {
		keys := slices.Sorted(maps.Keys(conf[family]))
		slices.SortStableFunc(keys, func(a, b string) int { return forwardingFirst(a) - forwardingFirst(b) })
		for _, key := range keys {
			all, other, differ := strings.Cut(conf[family][key], "/")
			if !differ {
				other = all
			}
			list = append(list, Sysctl{"net/" + family + "/conf/all/" + key, all}, Sysctl{"net/" + family + "/conf/default/" + key, other})
		}
	}
	return list
}

func forwardingFirst(key string) int {
	if key == "forwarding" {
		return 0
	}
	return 1
}

// Sysctl is a setting below /proc/sys; its name has slashes.
type Sysctl struct{ Name, Value string }

// Inherited are the Defaults that the namespace has not, with the kernel's values: a new one takes those of IPv4, and on
// some hosts of IPv6, from the host as it is (Documentation/admin-guide/sysctl/net.rst: devconf_inherit_init_net).
func (n *Namespace) Inherited() (list []Sysctl, err error) {
	return list, n.Do(func() error {
		for _, s := range Defaults() {
			now, err := ReadSysctl(s.Name)
			if errors.Is(err, ErrNoSysctl) { // an older kernel, or one without IPv6
				continue
			}
			if err != nil {
				return err
			}
			if now != s.Value {
				list = append(list, s)
			}
		}
		return nil
	})
}

// Reset writes sysctls that Inherited has found, also for the loopback, which had them before.
func (n *Namespace) Reset(inherited []Sysctl) error {
	if len(inherited) == 0 {
		return nil
	}
	return n.Do(func() error {
		for _, s := range inherited {
			if err := WriteSysctl(s.Name, s.Value); err != nil {
				return err
			}
			key, general := strings.CutPrefix(s.Name, "net/ipv4/conf/default/")
			if !general || key == "disable_policy" || key == "disable_xfrm" { // the loopback's own (inetdev_event)
				continue
			}
			if err := WriteSysctl("net/ipv4/conf/lo/"+key, s.Value); err != nil && !errors.Is(err, ErrNoSysctl) {
				return err
			}
		}
		return nil
	})
}

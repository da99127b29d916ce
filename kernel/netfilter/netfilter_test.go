package netfilter_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/kernel/netfilter"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// TestRulesAreFound: those of nft and of both programs iptables, and policies that drop; what only counts nothing yet is
// none.
func TestRulesAreFound(t *testing.T) {
	labtest.Root(t)
	for _, c := range []struct{ do, want string }{
		{"true", "[]"},
		{"nft add table inet f; nft add chain inet f c '{ type filter hook input priority 0; policy accept; }'", "[]"},
		{"nft add table inet f; nft add chain inet f c '{ type filter hook input priority 0; policy drop; }'", "[nft inet f c: the policy drop]"},
		{"nft add table ip f; nft add chain ip f c; nft add rule ip f c ip daddr 10.0.0.1 drop; nft add rule ip f c counter", "[nft ip f c: 2 rules]"},
		{"iptables-legacy -A INPUT -s 10.0.0.1 -j DROP; iptables-legacy -P FORWARD DROP", "[iptables filter FORWARD: the policy drop iptables filter INPUT: 1 rule]"},
		{"iptables-legacy -L -n >/dev/null", "[]"},
		{"ip6tables-legacy -A OUTPUT -p tcp --dport 80 -j DROP; ip6tables-legacy -A OUTPUT -j ACCEPT", "[ip6tables filter OUTPUT: 2 rules]"},
	} {
		t.Run(c.do, func(t *testing.T) {
			program := strings.Fields(c.do)[0]
			there := labtest.Installed(program)
			if strings.HasSuffix(program, "-legacy") { // not every kernel has its tables
				there = exec.Command("unshare", "-n", program, "-L", "-n").Run() == nil
			}
			labtest.Require(t, program, there)
			ns, err := netns.New()
			if err != nil {
				t.Fatal(err)
			}
			defer ns.Close()
			err = ns.Do(func() error {
				if out, err := exec.Command("sh", "-ec", c.do).CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				found, err := netfilter.List()
				if got := fmt.Sprint(found); got != c.want {
					t.Errorf("found %s, want %s", got, c.want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	// maxInterfaceName is IFNAMSIZ without the final zero (include/uapi/linux/if.h).
	maxInterfaceName = 15
	// maxHostName is one label of a host name (RFC 1035, 2.3.4); HOST_NAME_MAX is 64.
	maxHostName = 63
	// maxPrefix leaves room in an interface's name for the part that distinguishes devices.
	maxPrefix = 8
	// A derived prefix is the start of the lab's name, then base-36 digits of its hash.
	prefixLetters = 5
	prefixDigits  = 3
)

// hash is a number that depends on all parts and on where each ends.
func hash(parts ...string) uint64 {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// base36 returns the last digits of a number in 0-9a-z.
func base36(n uint64, digits int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, digits)
	for i := range b {
		b[i] = alphabet[n%36]
		n /= 36
	}
	return string(b)
}

// choosePrefix takes the user's prefix, or derives one that differs between labs.
func (w *work) choosePrefix() error {
	w.prefix = w.exp.Prefix
	if w.prefix == "" {
		letters := strings.ReplaceAll(plainName(w.exp.Name), "-", "")
		letters = letters[:min(len(letters), prefixLetters)]
		w.prefix = letters + base36(hash(w.exp.Name), prefixDigits)
		return nil
	}
	if len(w.prefix) > maxPrefix || plainName(w.prefix) != strings.TrimRight(w.prefix, "-") {
		return at(&Conflict{"prefix", fmt.Sprintf("%q cannot start a name", w.prefix),
			fmt.Sprintf("use at most %d letters a-z, digits and hyphens, starting with a letter or digit", maxPrefix)}, []string{"prefix"})
	}
	return nil
}

// plainName keeps the characters that a host name allows: lower-case letters, digits and inner
// hyphens.
func plainName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// nameHosts gives each node its name on the host. A name with characters that a host name does not
// allow gets digits of its hash, so that a_b and a-b stay different.
func (w *work) nameHosts() error {
	taken := map[string]string{}
	for _, n := range w.nodes {
		plain := plainName(n.name)
		room := maxHostName - len(w.prefix) - 1
		if plain != n.name || len(plain) > room {
			const digits = 6
			plain = plain[:min(len(plain), room-digits-1)]
			plain = strings.TrimLeft(plain+"-"+base36(hash(n.name), digits), "-")
		}
		n.hostName = w.prefix + "-" + plain
		if other, clash := taken[n.hostName]; clash {
			return at(&Conflict{"node " + n.name, "its host name " + n.hostName + " is that of node " + other, "rename one of them"}, n.steps())
		}
		taken[n.hostName] = n.name
	}
	return nil
}

// deviceName is a name for a device that is not taken yet: the prefix and a tail, or, where that does
// not do, a hash of what the device is from.
func (w *work) deviceName(taken map[string]bool, tail string, from ...string) string {
	name := w.prefix + "-" + tail
	if len(name) > maxInterfaceName || taken[name] || plainName(tail) != tail {
		digits := maxInterfaceName - len(w.prefix) - 1
		for salt := 0; ; salt++ {
			name = w.prefix + "-" + base36(hash(append(from, fmt.Sprint(salt))...), digits)
			if !taken[name] {
				break
			}
		}
	}
	taken[name] = true
	return name
}

// nameDevices names what the lab makes outside the nodes. Names derive from the link's name, not
// from its place in the file, so that inserting a link renames no other.
func (w *work) nameDevices() error {
	taken := map[string]bool{}
	device := func(tail string, from ...string) string { return w.deviceName(taken, tail, from...) }
	for _, l := range w.links {
		d := l.kind.Descriptor()
		if d.Device != "" && l.spec.Parent == "" { // a parent of the host already has a name
			l.device = device(l.name, d.Device, l.name)
		}
		if !d.InFabric {
			continue
		}
		for i, e := range l.endpoints {
			if l.program != nil && e.attach != AttachVeth {
				continue
			}
			e.fabricDevice = device(fmt.Sprintf("%s-%d", l.name, i), "port", l.name, e.String())
		}
	}
	return nil
}

// FabricName is the host name of the fabric, which has the bridges and the links' programs.
func (p *Plan) FabricName() string { return p.Prefix + ".fabric" }

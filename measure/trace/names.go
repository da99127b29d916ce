package trace

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/dropreason"
)

// names resolves the numbers in records.
type names struct {
	threads map[uint32]string
	devices map[uint64]string
	// functions are the kernel's; interrupts those of /proc/interrupts by number; drops the values
	// of enum skb_drop_reason.
	functions  symbols
	interrupts map[uint64]string
	drops      map[uint64]string
}

func (n *names) thread(tid uint32) string {
	if tid == 0 {
		return "idle"
	}
	return n.threads[tid]
}

func (n *names) interrupt(number uint64) string {
	if name, ok := n.interrupts[number]; ok {
		return name
	}
	return fmt.Sprintf("irq %d", number)
}

func (n *names) function(address uint64) string {
	if name := n.functions.at(address); name != "" {
		return name
	}
	return fmt.Sprintf("%#x", address)
}

// device returns a device's name; packets without a polled device wait in the CPU's backlog.
func (n *names) device(id uint64) string {
	if name, ok := n.devices[id]; ok {
		return name
	}
	return "backlog"
}

func (n *names) drop(reason uint64) string {
	if name, ok := n.drops[reason]; ok {
		return name
	}
	return fmt.Sprintf("reason %d", reason)
}

// readNames reads the names that the kernel keeps; those of threads and devices are noted when they
// occur.
func readNames(root string) (*names, error) {
	n := &names{threads: map[uint32]string{}, devices: map[uint64]string{}}
	for _, file := range []struct {
		path string
		read func(io.Reader) error
	}{
		{"/proc/kallsyms", func(r io.Reader) (err error) { n.functions, err = parseSymbols(r); return }},
		{"/proc/interrupts", func(r io.Reader) (err error) { n.interrupts, err = parseInterrupts(r); return }},
	} {
		f, err := os.Open(filepath.Join(root, file.path))
		if err != nil {
			return nil, err
		}
		err = file.read(f)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file.path, err)
		}
	}
	n.drops = dropreason.Names()
	return n, nil
}

// symbols are kernel functions ordered by address.
type symbols []symbol

type symbol struct {
	address uint64
	name    string
}

// at returns the function that begins at an address.
func (s symbols) at(address uint64) string {
	i := sort.Search(len(s), func(i int) bool { return s[i].address >= address })
	if i < len(s) && s[i].address == address && address != 0 {
		return s[i].name
	}
	return ""
}

// parseSymbols reads /proc/kallsyms: "ffffffff81000000 T _text", and the module's name in brackets.
func parseSymbols(r io.Reader) (symbols, error) {
	var list symbols
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.ContainsAny(fields[1], "tTwW") {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, err
		}
		// Unprivileged readers see zeros (kernel.kptr_restrict).
		if address != 0 {
			list = append(list, symbol{address, strings.Clone(fields[2])})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].address < list[j].address })
	return list, lines.Err()
}

// parseInterrupts reads the actions of /proc/interrupts by interrupt number: " 24:  12  0  PCI-MSI
// 512-edge  virtio0-input.0". Before the actions' names, the chip and the hardware's number have a
// varying number of words: the actions follow the word that ends with the trigger.
func parseInterrupts(r io.Reader) (map[uint64]string, error) {
	list := map[uint64]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		label, rest, found := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		number, err := strconv.ParseUint(label, 10, 64)
		if !found || err != nil {
			continue
		}
		words := strings.Fields(rest)
		for i, word := range words {
			if strings.HasSuffix(word, "edge") || strings.HasSuffix(word, "level") || strings.HasSuffix(word, "fasteoi") {
				if name := strings.Join(words[i+1:], " "); name != "" {
					list[number] = name
				}
				break
			}
		}
	}
	return list, lines.Err()
}

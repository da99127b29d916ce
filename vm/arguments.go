package vm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/vm/guestagent"
)

// Arguments is a machine's QEMU command line, without the program.
func Arguments(c Config) []string {
	var a arguments
	a.machine(c)
	a.memory(c)
	a.add("-kernel", c.Kernel)
	if c.Initrd != "" {
		a.add("-initrd", c.Initrd)
	}
	a.add("-append", strings.Join(c.commandLine(), " "))
	a.channels(c)
	a.storage(c)
	a.networks(c)
	for i, address := range c.HostDevices {
		a.device("vfio-pci", "host="+address, "bus="+a.rootPort(fmt.Sprintf("host%d", i), 0))
	}
	return a.words
}

// commandLine is the kernel command line.
func (c Config) commandLine() []string {
	// A guest that panics restarts, which ends QEMU. The CPUs of a translated guest share one TSC, but
	// without tsc=reliable Linux does not trust it (unsynchronized_tsc in arch/x86/kernel/tsc.c) and reads
	// the HPET, which takes QEMU's lock each time. The same word turns off the kernel's clocksource
	// watchdog, for which such a guest's clock is too uneven. On a busy host it is also too
	// uneven for the kernel's test at boot that ten timer ticks arrive in time, which
	// panics otherwise (timer_irq_works in arch/x86/kernel/apic/io_apic.c; on KVM the
	// kernel skips it). Mitigations of CPU faults that QEMU does not have would only cost it
	// CPU time.
	words := []string{"console=ttyS0", "quiet", "panic=-1"}
	if c.Accelerator == TCG {
		words = append(words, "tsc=reliable", "no_timer_check", "mitigations=off")
	}
	if c.IOMMU {
		words = append(words, "intel_iommu=on")
	}
	words = append(words, c.Boot.Words()...)
	return append(words, c.Append...)
}

type arguments struct {
	words []string
	// ports counts root ports, each of which needs its own number.
	ports int
	// bridges are the NUMA nodes that have a host bridge.
	bridges []int
}

func (a *arguments) add(words ...string) { a.words = append(a.words, words...) }

// option adds a flag with a list of properties. QEMU needs commas in them doubled.
func (a *arguments) option(flag string, properties ...string) {
	for i, property := range properties {
		properties[i] = strings.ReplaceAll(property, ",", ",,")
	}
	a.add(flag, strings.Join(properties, ","))
}

func (a *arguments) device(properties ...string) { a.option("-device", properties...) }

// translatedCPU has all that QEMU can translate, but for two things that cost a translated guest a
// third of its CPU time: five-level page tables make its page walks longer; and where a CPU promises
// fast string instructions (ERMS and FSRM, and FSRS in subleaf 1 of leaf 7), Linux and the C library
// copy and clear memory by them, which QEMU does byte by byte.
const translatedCPU = "max,la57=off,erms=off,fsrm=off,level-func7=0"

// machine adds the board and its processors, and removes QEMU's defaults.
func (a *arguments) machine(c Config) {
	// -no-user-config and -nodefaults: no devices by default. -no-reboot: a restart
	// ends QEMU.
	a.add("-no-user-config", "-nodefaults", "-no-reboot", "-display", "none")
	board := []string{"q35"}
	if c.IOMMU {
		// Interrupt remapping needs the I/O APIC in QEMU (docs of intel-iommu).
		board = append(board, "kernel-irqchip=split")
	}
	a.option("-machine", board...)
	if c.Accelerator == TCG {
		// With one thread for all of them, a guest's CPU that polls keeps the others from running for 100 ms at a time
		// (TCG_KICK_PERIOD, accel/tcg/tcg-accel-ops-rr.h of QEMU), and on a busy host they starve: a network card that was
		// set up had no carrier after 30 s.
		a.option("-accel", "tcg", "thread=multi")
	} else {
		a.option("-accel", "kvm")
	}
	model := c.CPU.Model
	switch {
	case model != "":
	case c.Accelerator == TCG:
		model = translatedCPU
	default:
		model = "host"
	}
	a.add("-cpu", model)
	a.option("-smp", strconv.Itoa(c.CPU.Count()),
		"sockets="+strconv.Itoa(max(c.CPU.Sockets, 1)), "cores="+strconv.Itoa(max(c.CPU.Cores, 1)), "threads="+strconv.Itoa(max(c.CPU.Threads, 1)))
	if c.IOMMU {
		iommu := []string{"intel-iommu", "intremap=on", "caching-mode=on", "device-iotlb=on"}
		if c.Accelerator == TCG {
			// With it the guest speaks to its APICs by registers of the CPU (x2APIC) and not by memory. Without it some
			// guests hang as they boot: an APIC still has its timer's interrupt in service (ISR in QEMU's info lapic), though
			// the CPU is idle, and gives no more. The write that ends the interrupt seems to get lost while another
			// CPU changes the map of devices' memory. On KVM x2APIC is there by itself.
			iommu = append(iommu, "eim=on")
		}
		a.device(iommu...)
	}
}

// memory adds a backend for each NUMA node, or one for all.
func (a *arguments) memory(c Config) {
	a.add("-m", strconv.Itoa(c.Memory.MiB)+"M")
	backend := func(id string, mib int) {
		properties := []string{"memory-backend-memfd"}
		switch {
		case c.Memory.Hugepages != "":
			properties = []string{"memory-backend-file", "mem-path=" + c.Memory.Hugepages, "prealloc=on"}
		case c.Memory.HugepageBytes > 0:
			properties = append(properties, "hugetlb=on", fmt.Sprintf("hugetlbsize=%d", c.Memory.HugepageBytes), "prealloc=on")
		case !c.Memory.Shared:
			properties = []string{"memory-backend-ram"}
		}
		properties = append(properties, "id="+id, "size="+strconv.Itoa(mib)+"M", "share="+onOff(c.Memory.Shared))
		if c.Memory.HostNodes != "" {
			properties = append(properties, "host-nodes="+c.Memory.HostNodes, "policy=bind")
		}
		a.option("-object", properties...)
	}
	if len(c.NUMA) == 0 {
		backend("memory0", c.Memory.MiB)
		a.option("-numa", "node", "nodeid=0", "memdev=memory0")
		return
	}
	left := c.Memory.MiB
	for i, node := range c.NUMA {
		id, mib := fmt.Sprintf("memory%d", i), left/(len(c.NUMA)-i)
		left -= mib
		backend(id, mib)
		properties := []string{"node", fmt.Sprintf("nodeid=%d", i), "memdev=" + id}
		for _, cpu := range node.CPUs {
			properties = append(properties, fmt.Sprintf("cpus=%d", cpu))
		}
		a.option("-numa", properties...)
	}
}

// channels adds the console, QMP and the agents' ports.
func (a *arguments) channels(c Config) {
	a.option("-chardev", "file", "id=console", "path="+cmp.Or(c.ConsolePipe, c.ConsoleLog()))
	a.add("-serial", "chardev:console")
	a.option("-chardev", "socket", "id=qmp", "path="+c.qmpSocket(), "server=on", "wait=off")
	a.option("-mon", "chardev=qmp", "mode=control")
	a.device("virtio-serial-pci")
	for i := range max(c.Agents, 1) {
		id := fmt.Sprintf("agent%d", i)
		a.option("-chardev", "socket", "id="+id, "path="+c.agentSocket(i), "server=on", "wait=off")
		a.device("virtserialport", "chardev="+id, fmt.Sprintf("name=%s%d", guestagent.PortPrefix, i))
	}
	for i, port := range c.Ports {
		id := fmt.Sprintf("port%d", i)
		a.option("-chardev", "socket", "id="+id, "path="+port.Socket, "server=on", "wait=off")
		a.device("virtserialport", "chardev="+id, "name="+port.Name)
	}
	a.device("virtio-rng-pci")
}

func (a *arguments) storage(c Config) {
	for i, disk := range c.Disks {
		id := fmt.Sprintf("disk%d", i)
		drive := []string{"file=" + disk.Path, "format=raw", "if=none", "id=" + id, "readonly=" + onOff(disk.ReadOnly)}
		if disk.ReadOnly {
			drive = append(drive, "file.locking=off")
		}
		a.option("-drive", drive...)
		a.device("virtio-blk-pci", "drive="+id, "serial="+disk.Name)
	}
	for i, share := range c.Shares {
		id := fmt.Sprintf("share%d", i)
		a.option("-fsdev", "local", "id="+id, "path="+share.Path, "security_model=none", "multidevs=remap", "readonly="+onOff(share.ReadOnly))
		a.device("virtio-9p-pci", "fsdev="+id, "mount_tag="+share.Name)
	}
}

func (a *arguments) networks(c Config) {
	for i, nic := range c.NICs {
		id := fmt.Sprintf("net%d", i)
		pairs := max(nic.QueuePairs, 1)
		switch nic.Backend {
		case Tap:
			backend := []string{"tap", "id=" + id, "ifname=" + nic.Tap, "script=no", "downscript=no", "vhost=" + onOff(nic.VhostNet)}
			if nic.Tap == "" {
				backend = []string{"tap", "id=" + id, fmt.Sprintf("fd=%d", nic.FD), "vhost=" + onOff(nic.VhostNet)}
			}
			if pairs > 1 {
				backend = append(backend, fmt.Sprintf("queues=%d", pairs))
			}
			a.option("-netdev", backend...)
		case Hub:
			a.option("-netdev", "hubport", "id="+id, fmt.Sprintf("hubid=%d", nic.Hub))
		case VhostUser:
			socket := []string{"socket", "id=" + id + "-socket", "path=" + nic.Socket}
			if nic.Server {
				socket = append(socket, "server=on", "wait=off")
			}
			a.option("-chardev", socket...)
			backend := []string{"vhost-user", "id=" + id, "chardev=" + id + "-socket"}
			if pairs > 1 {
				backend = append(backend, fmt.Sprintf("queues=%d", pairs))
			}
			a.option("-netdev", backend...)
		}
		card := []string{string(nic.Model), "netdev=" + id, "id=nic" + strconv.Itoa(i), "bus=" + a.rootPort(id, nic.NUMANode)}
		if nic.MAC != "" {
			card = append(card, "mac="+nic.MAC)
		}
		if nic.Model == Virtio && pairs > 1 {
			// One vector for each queue, one for the configuration and one for
			// control.
			card = append(card, "mq=on", fmt.Sprintf("vectors=%d", 2*pairs+2))
		}
		if nic.Model == Virtio {
			card = append(card, "romfile=")
		}
		a.device(card...)
	}
}

// rootPort adds a root port for one device, like a slot of a server board, so that the
// device has its own IOMMU group. A port near a NUMA node other than the first is on a host
// bridge of that node.
func (a *arguments) rootPort(name string, node int) string {
	bus := "pcie.0"
	if node > 0 {
		bus = fmt.Sprintf("node%d", node)
		if !slices.Contains(a.bridges, node) {
			a.bridges = append(a.bridges, node)
			a.device("pxb-pcie", "id="+bus, fmt.Sprintf("bus_nr=%d", 64*node), fmt.Sprintf("numa_node=%d", node), "bus=pcie.0")
		}
	}
	a.ports++
	id := "port-" + name
	a.device("pcie-root-port", "id="+id, "bus="+bus, fmt.Sprintf("chassis=%d", a.ports))
	return id
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

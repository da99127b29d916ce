# How DPDK is linked. Into the engine statically, with the drivers below only; into
# the tests and the fuzzer dynamically, because the sanitizers do not support static programs.
DPDK_VERSION := $(shell pkg-config --modversion libdpdk 2>/dev/null)
DPDK_FOLDER := $(shell pkg-config --variable=libdir libdpdk 2>/dev/null)

# Each is in DPDK 22.11 (Debian 12) and in 24.11 (Debian 13). Drivers, buses and mempool
# handlers register themselves in constructors, which nothing calls by name, so the linker
# needs their whole archives.
DPDK_DRIVERS := bus_pci bus_vdev mempool_ring common_iavf \
	net_af_packet net_af_xdp net_memif net_null net_pcap net_ring net_tap net_vhost net_virtio \
	net_e1000 net_i40e net_iavf net_ice net_ixgbe
DPDK_WHOLE := $(DPDK_DRIVERS:%=$(DPDK_FOLDER)/librte_%.a)

ifeq ($(MAKECMDGOALS),clean)
else ifeq ($(DPDK_VERSION),)
$(error DPDK is missing: install libdpdk-dev (make setup))
else ifneq ($(filter-out $(wildcard $(DPDK_WHOLE)),$(DPDK_WHOLE)),)
$(error DPDK $(DPDK_VERSION) lacks $(filter-out $(wildcard $(DPDK_WHOLE)),$(DPDK_WHOLE)): install libdpdk-dev of Debian 12 or 13)
endif

# The rest of DPDK: only what is called of each archive.
DPDK_REST := $(filter-out $(DPDK_WHOLE),$(wildcard $(DPDK_FOLDER)/librte_*.a))
# The libraries that the drivers above need; pkg-config lists those of all drivers in Debian.
DPDK_NEEDS := -lpcap -lbsd -lmd -lnuma -lxdp -lbpf -lelf -lz -lm

# Our warnings do not apply to its headers.
DPDK_CPPFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I libdpdk 2>/dev/null)) \
	-include rte_config.h
# The linker warns about name services that a static program lacks. They are for --vdev
# plugins (-d), traces and filters by host name, none of which the engine uses.
# The replacement of libdbus, and the wrapper of memif's driver.
DPDK_STATIC_SOURCES := dpdk/pcap_dbus.c dpdk/memif_gate.c
DPDK_STATIC := -Wl,--wrap=memif_free_regions -Wl,--no-warnings -Wl,--whole-archive $(DPDK_WHOLE) -Wl,--no-whole-archive \
	-Wl,--start-group $(DPDK_REST) -Wl,--end-group $(DPDK_NEEDS)
DPDK_DYNAMIC := -L$(DPDK_FOLDER) $(patsubst $(DPDK_FOLDER)/lib%.so,-l%,$(wildcard \
	$(patsubst %,$(DPDK_FOLDER)/librte_%.so,vhost ethdev net mbuf mempool ring eal kvargs log)))

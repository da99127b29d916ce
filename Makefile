# nines: `make help` lists the targets. Everything runs as root or through sudo.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO := hack/go
TOOL := $(GO) tool -modfile=hack/tools/go.mod
ifneq ($(shell id -u),0)
SUDO := sudo
endif
# The checkout may belong to another user than the one who builds in it.
export GIT_CONFIG_COUNT := 1
export GIT_CONFIG_KEY_0 := safe.directory
export GIT_CONFIG_VALUE_0 := *
# Downloads and other files of the tests outlive a checkout, named by a digest of their sources. The folder is in
# the user's cache; files that root writes there belong to root.
TEST_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nines/test
VERSION := $(shell hack/version.sh)

BPF_SOURCES := $(wildcard lab/link/xdp/*.bpf.c lab/link/tc/*.bpf.c measure/trace/bpf/*.bpf.c measure/ended/bpf/*.bpf.c measure/witness/bpf/*.bpf.c)
BPF_OBJECTS := $(BPF_SOURCES:.c=.o)
# The kernel's <asm/types.h> is in the multiarch folder, which -target bpf does not search.
# No program contains the paths of the machine that built it.
BPF_CFLAGS := -O2 -g -Wall -Werror -ffile-prefix-map=$(CURDIR)=. -target bpf -I/usr/include/$(shell gcc -print-multiarch 2>/dev/null)
PAGE := report/page/index.html
PAGE_SOURCES := $(shell find web \( -name node_modules -o -name build \) -prune -o -type f -print)

.PHONY: help
## help: list the targets
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: quickstart
## quickstart: install what is missing, build, run examples/quickstart.yaml and a duet, show the results
quickstart: setup
	@$(MAKE) build
	$(SUDO) bin/nines run examples/quickstart.yaml
	@echo
	@echo "Side by side, packet by packet: is a veth pair faster than a bridge? (nines duet)"
	$(SUDO) bin/nines duet --for 12s --out results/duets
	@echo "The page: $(CURDIR)/results/latest/report.html"

# setup-GROUP... installs for more: see hack/setup/packages.txt.
.PHONY: setup setup-unit setup-test setup-bench setup-vm setup-cluster setup-switches setup-dpdk-examples
## setup: install the packages that building and running need
setup:
	@hack/setup/install.sh build run
	@$(GO) version >/dev/null
setup-unit: setup
	@hack/setup/install.sh unit
## setup-vm: and those for virtual machines and the virtual laboratory
setup-vm: setup
	@hack/setup/install.sh vm
setup-test: setup
	@hack/setup/install.sh unit vm test cluster
	@hack/setup/venv.sh
setup-bench: setup
	@hack/setup/install.sh bench
## setup-cluster: and those for nines cluster, which are built once (10 minutes of CPU)
setup-cluster: setup
	@hack/setup/install.sh cluster
	@$(MAKE) bpf
	@hack/setup/cluster.sh
## setup-switches: build Snabb and VPP, outside of the checkout, for links of these kinds (20 minutes of CPU)
setup-switches: setup
	@hack/setup/install.sh switches
	@hack/setup/switches.sh
## setup-dpdk-examples: build DPDK's l2fwd and l3fwd, for examples/devices
setup-dpdk-examples:
	@hack/setup/dpdk-examples.sh

.PHONY: build
## build: build bin/nines and what it needs
# Two that build the same checkout take turns.
build:
	@mkdir -p build && flock build/lock $(MAKE) programs
.PHONY: programs
PROGRAMS := nines nines-engine nines-init nines-poller nines-guest nines-node nines-script nines-disturb nines-filter
programs: $(PROGRAMS:%=bin/%)

# go build and the makefiles below check by themselves whether these are up to date.
.PHONY: FORCE
bin/nines: FORCE embedded
	@$(GO) build -ldflags '-w -X main.version=$(VERSION)' -o $@ ./cmd/nines

bin/nines-engine: FORCE
	@$(MAKE) -C engine

bin/nines-init: FORCE
	@$(MAKE) -C programs/nines-init

bin/nines-disturb: FORCE
	@$(MAKE) -C programs/nines-disturb

bin/nines-filter: FORCE
	@$(MAKE) -C programs/nines-filter

bin/nines-poller: FORCE
	@$(MAKE) -C busypoll/poller

# It is alone in a virtual machine, without a C library.
bin/nines-guest: FORCE
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-guest

# A node's program in such a machine, and its counterpart on the host.
bin/nines-node: FORCE embedded
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-node

# The command that scripts call in a node, with any root file system.
bin/nines-script: FORCE
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-script

# What the Go code embeds, and so what go vet and go test need too. The compiler writes into the folders that are
# embedded: a target that needs the same objects at the same time waits for them before it compiles any Go.
.PHONY: embedded bpf bpf-objects
embedded: bpf $(PAGE)
bpf:
	@mkdir -p build && flock build/bpf.lock $(MAKE) -s bpf-objects
bpf-objects: $(BPF_OBJECTS)

measure/trace/bpf/recorder.bpf.o: $(wildcard measure/trace/bpf/*.h) engine/port/taken.h
measure/ended/bpf/ended.bpf.o: measure/trace/bpf/kernel.h engine/port/taken.h
measure/witness/bpf/witness.bpf.o: measure/trace/bpf/kernel.h measure/witness/bpf/witness.h

%.bpf.o: %.bpf.c
	clang $(BPF_CFLAGS) -c $< -o $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

$(PAGE): web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run --silent build
	@touch $@

include hack/test.mk
include hack/package/package.mk

.PHONY: format
## format: format Go and C
format:
	gofmt -w $$(git ls-files '*.go')
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: generate
## generate: regenerate derived files: golden files, docs/reference/commands.md, tables of docs/, web/src/data.ts
# The page is built from types that Go's tests write, and those tests embed the page: an old page is enough for them.
generate:
	@test -e $(PAGE) || $(MAKE) embedded
	@$(GO) test ./report -run TestTypesOfThePage -update
	@$(MAKE) embedded
	hack/generate.sh

.PHONY: clean
## clean: remove what was built, but not results/
clean:
	$(SUDO) rm -rf bin build $(BPF_OBJECTS) report/page web/node_modules web/build

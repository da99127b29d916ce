# nines: `make help` lists the targets. Everything runs as root or through sudo.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO := hack/go
TOOL := $(GO) tool -modfile=hack/tools/go.mod
ifneq ($(shell id -u),0)
SUDO := sudo
endif
# A checkout may belong to another user than the one who builds in it.
export GIT_CONFIG_COUNT := 1
export GIT_CONFIG_KEY_0 := safe.directory
export GIT_CONFIG_VALUE_0 := *
# What tests download and make outlives a checkout: each sort is kept by what it is made of. The folder is the
# user's, beside what else is kept there; what root puts into it is root's.
TEST_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nines/test
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

BPF_SOURCES := $(wildcard lab/link/xdp/*.bpf.c lab/link/tc/*.bpf.c measure/trace/bpf/*.bpf.c)
BPF_OBJECTS := $(BPF_SOURCES:.c=.o)
# The kernel's <asm/types.h> is in the multiarch folder, which -target bpf does not search.
BPF_CFLAGS := -O2 -g -Wall -Werror -target bpf -I/usr/include/$(shell gcc -print-multiarch 2>/dev/null)
PAGE := report/page/index.html
PAGE_SOURCES := $(shell find web \( -name node_modules -o -name build \) -prune -o -type f -print)

.PHONY: help
## help: list the targets
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: quickstart
## quickstart: install what is missing, build, run examples/quickstart.yaml, show the result
quickstart: setup
	@$(MAKE) build
	$(SUDO) bin/nines run examples/quickstart.yaml
	@echo "The page: $(CURDIR)/results/latest/report.html"

# setup-GROUP... installs for more: see hack/setup/packages.txt.
.PHONY: setup setup-unit setup-test setup-bench setup-vm setup-cluster setup-switches
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
## setup-switches: build Snabb, outside of the checkout, for the tests with the real program
setup-switches: setup
	@hack/setup/switches.sh

.PHONY: build
## build: build bin/nines and what it needs
# Two that build the same checkout take turns.
build:
	@mkdir -p build && flock build/lock $(MAKE) programs
.PHONY: programs
programs: bin/nines bin/nines-engine bin/nines-init bin/nines-poller bin/nines-guest bin/nines-node bin/nines-script bin/nines-disturb

# What go build and the makefiles below know best is for them to find up to date.
.PHONY: FORCE
bin/nines: FORCE embedded
	@$(GO) build -ldflags '-w -X main.version=$(VERSION)' -o $@ ./cmd/nines

bin/nines-engine: FORCE
	@$(MAKE) -C engine

bin/nines-init: FORCE
	@$(MAKE) -C programs/nines-init

bin/nines-disturb: FORCE
	@$(MAKE) -C programs/nines-disturb

bin/nines-poller: FORCE
	@$(MAKE) -C busypoll/poller

# It is alone in a virtual machine, without a C library.
bin/nines-guest: FORCE
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-guest

# What a node has in such a machine, and speaks to it from the host.
bin/nines-node: FORCE embedded
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-node

# What scripts call in a node, whichever file system that has.
bin/nines-script: FORCE
	@$(GO) build -ldflags '-s -w' -o $@ ./programs/nines-script

# What the Go code embeds, and so what go vet and go test need too. The compiler writes into the folders that are
# embedded: who wants the same objects at the same time waits for them before it compiles any Go.
.PHONY: embedded bpf bpf-objects
embedded: bpf $(PAGE)
bpf:
	@mkdir -p build && flock build/bpf.lock $(MAKE) -s bpf-objects
bpf-objects: $(BPF_OBJECTS)

measure/trace/bpf/recorder.bpf.o: $(wildcard measure/trace/bpf/*.h) engine/port/taken.h

%.bpf.o: %.bpf.c
	clang $(BPF_CFLAGS) -c $< -o $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

$(PAGE): web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run --silent build
	@touch $@

.PHONY: test test-all
# First what computes, beside the laboratory, which waits more than it computes; then the labs of this host. Engines
# that poll, kubelets and translated machines take CPU time for as long as their tests take, so they have few others
# beside them. The linters find room beside the tests that have the host's labs to themselves.
## test: install what the tests need, build, run every test and the linters, short of test-all
test:
	@FRESH=trixie BOOTS=main,new,rt ONCE=1 hack/stages.sh setup-test \
		[ build test-compile test-unit , test-fresh test-engine test-web , images test-vm , setup-cluster ] \
		[ test-root , test-cluster ] [ test-host , lint ] test-quiet

# In test-all few lanes run at a time: they keep two CPUs busy, and beside all others an emulated machine waits for
# them longer than its tests can know. One of the cluster's tests has its lab for an hour, so test-host, which would
# wait for that, comes after it.
## test-all: all boots, kill points, examples and Debians, and fuzzing; RESUME=1 goes on with what is left
test-all:
	@NINES_LONG=1 hack/stages.sh setup-test \
		[ build test-compile test-go , test-fresh test-engine lint test-web test-fuzz , images ] \
		[ test-vm , setup-cluster test-cluster lint-cluster ] test-host test-quiet

# What takes all CPUs that it gets, for minutes, gives way to the tests beside it: their labs carry packets, and
# one after another they take longest.
GIVE_WAY = nice -n 8

# Go's tests run in passes, each test once: see test/passes. Who needs them compiled waits for
# who compiles them: go compiles the same package twice at the same time.
PASS = hack/gotest.sh --hide-summary=skipped --
.PHONY: test-compile test-binaries
test-compile:
	@mkdir -p build && flock build/lock $(MAKE) test-binaries
test-binaries: programs
	@$(GO) build -o build/passes ./test/passes
	@build/passes compile

.PHONY: test-unit test-engine test-web
## test-unit: run the Go tests that need no root; as root they run as an ordinary user
test-unit: build
	$(PASS) pure

# Each test once; the long form also as the engine is built for users, without sanitizers.
## test-engine: run the engine's own tests, with sanitizers
test-engine:
	$(MAKE) -C engine $(if $(NINES_LONG),test) asan-test

## test-web: run the tests of the page
test-web: web/node_modules/.package-lock.json
	cd web && npm test --silent

# Through sudo only the test binaries run as root; go's caches stay the user's.
ifneq ($(SUDO),)
AS_ROOT = -exec 'sudo env NINES_LONG=$(NINES_LONG) NINES_REQUIRE=$(NINES_REQUIRE) NINES_PUBLISHED_DATA=$(NINES_PUBLISHED_DATA)'
endif
.PHONY: test-go test-root test-host test-quiet
## test-go: test-unit and test-root in one: a package's tests as root begin when its others have ended
test-go: build
	$(PASS) $(AS_ROOT) pure root

## test-root: run the Go tests that test-unit has left to root, with namespaces, links and containers
test-root: build
	$(PASS) $(AS_ROOT) root

## test-host: after test-root, run the tests that rearrange the host; no other lab is to run beside them
test-host: build
	$(PASS) $(AS_ROOT) host

## test-quiet: run the tests that measure time; nothing else is to run beside them
test-quiet: build
	$(PASS) $(AS_ROOT) quiet

# Tests for the virtual laboratory; BOOTS=main,rt and RUN=regexp choose some; with ONCE=1 a
# test runs in one boot only, unless it is about kernels. The table is the last that is printed.
.PHONY: test-vm images
## test-vm: test in virtual machines what needs other hardware, other kernels, or a whole host
test-vm: test-compile
	@rm -f build/vm/table.txt && mkdir -p $(TEST_CACHE)
	@$(GOTESTSUM_VM) --raw-command -- $$($(GO) tool -n test2json) -t -p nines.dev/nines/test/vm \
		$(SUDO) env -C test/vm $(VM_ENV) $$(build/passes binary test/vm) -test.v=test2json -test.timeout=$(if $(NINES_LONG),100m,50m); \
		status=$$?; cat build/vm/table.txt; exit $$status
# What the laboratory's tests boot from: minutes of downloads, for which the lanes beside it
# need not wait.
images:
	@mkdir -p build $(TEST_CACHE) && flock build/lock $(MAKE) bin/nines-guest build/images
	@$(SUDO) env $(VM_ENV) build/images
build/images: FORCE
	@$(GO) build -o $@ ./test/vm/images
VM_ENV = NINES_TEST_VM=1 NINES_VM_BOOTS=$(BOOTS) NINES_VM_ONCE=$(ONCE) "NINES_VM_RUN=$(RUN)" NINES_CACHE_DIR=$(TEST_CACHE) NINES_REQUIRE=$(NINES_REQUIRE) NINES_LONG=$(NINES_LONG) PATH=$(PATH):/usr/sbin:/sbin
# By the tools' paths, as `go tool` exits with 0 if the tool is killed.
GOTESTSUM_VM = $$($(TOOL) -n gotestsum) --format testname --hide-summary=skipped

# Its programs are built once, by content.
.PHONY: test-cluster
## test-cluster: test the module in cluster/, on real API servers and kubelets
test-cluster: build setup-cluster
	@mkdir -p $(TEST_CACHE)
	@$(SUDO) env NINES_LONG=$(NINES_LONG) NINES_REQUIRE=$(NINES_REQUIRE) NINES_CACHE_DIR=$(TEST_CACHE) \
		NINES_LIBEXEC=$(CURDIR)/bin NINES_CLUSTER_PROGRAMS=$(CURDIR)/bin/cluster PATH=$(CURDIR)/bin/cluster:$(PATH) hack/test-cluster.sh

.PHONY: test-fuzz
# Each fuzz target for some runs, those in C for ten times as many, as they are faster; longer with FUZZ_RUNS.
# Their seeds are ordinary tests.
FUZZ_RUNS ?= 10000
test-fuzz: embedded
	hack/fuzz.sh $(FUZZ_RUNS)
	@$(MAKE) -C engine fuzz FUZZ_RUNS=$$(($(FUZZ_RUNS) * 10)) && echo 'fuzz: PASS engine commands'

.PHONY: test-fresh
## test-fresh: build and run in a new Debian 12 and a new Debian 13; FRESH=trixie for one
test-fresh:
	$(GIVE_WAY) $(SUDO) env NINES_LONG=$(NINES_LONG) test/fresh/run.sh $(FRESH)

.PHONY: bench
## bench: measure beside the peers, print a table and write bench.json; BENCH=latency for one group
bench: setup-bench $(if $(BENCH),$(if $(filter cluster ports,$(BENCH)),setup-cluster),setup-cluster)
	@$(MAKE) build
	@$(MAKE) -C engine ../bin/nines-engine-bench
	$(GO) build -o build/bench ./test/bench
	$(SUDO) env NINES_LIBEXEC=$(CURDIR)/bin build/bench $(BENCH)

.PHONY: lint
## lint: check format and find faults in Go, C, shell and TypeScript
lint: embedded
	$(GIVE_WAY) hack/lint.sh

# Apart from the others, as it wants all of Kubernetes compiled, which setup-cluster has done.
.PHONY: lint-cluster
## lint-cluster: find faults in the Go module in cluster/
lint-cluster: setup-cluster
	hack/lint.sh cluster

.PHONY: format
## format: format Go and C
format:
	gofmt -w $$(git ls-files '*.go')
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: generate
## generate: write anew what is derived: golden files, docs/commands.md, tables of docs/, web/src/data.ts
# The page is built from types that come from Go, whose tests embed the page: an old one will do.
generate:
	@test -e $(PAGE) || $(MAKE) embedded
	@$(GO) test ./report -run TestTypesOfThePage -update
	@$(MAKE) embedded
	hack/generate.sh

.PHONY: clean
## clean: remove what was built, but not results/
clean:
	$(SUDO) rm -rf bin build $(BPF_OBJECTS) report/page web/node_modules web/build

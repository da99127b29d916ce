# How the project is tested and measured: targets of the Makefile above. They are apart from those that build, as a
# change here changes no program.

.PHONY: test test-all
# Compiling and pure tests run first, beside the laboratory, which waits more than it computes; then the labs of this
# host. Polling engines, kubelets and translated machines use CPU time for as long as their tests run, so few others
# run beside them. The linters run beside the tests that have the host's labs to themselves.
## test: install what the tests need, build, run the tests that a change can break, and the linters; WHY=PACKAGE says why
test: $(if $(WHY),why,choose)
ifeq ($(WHY),)
	@SELECTED=build/selection/selected LEFT_OUT="$$(build/select left-out)" FRESH=trixie BOOTS=main,new,rt ONCE=1 \
		hack/stages.sh setup-test \
		[ build test-compile test-unit , test-fresh test-engine test-web , images test-vm , setup-cluster ] \
		[ test-root , test-cluster ] [ test-host , lint ] test-quiet
endif

# test/verified says what need not run: see test/selection. test-all leaves nothing out, and writes that file.
.PHONY: choose choose-all why verified
choose choose-all why: setup
	@mkdir -p build && $(GO) build -o build/select ./test/selection/select
	@build/select $(if $(filter why,$@),why $(WHY),$(subst -, ,$@))
## verified: write test/verified from what make test-all has run so far
verified: choose-all
	@build/select verify

# In test-all few lanes run at a time: they keep two CPUs busy, and beside all others an emulated machine would wait
# for them until its tests time out. Beside emulated machines the cluster's tests would wait for latencies that such
# a host cannot give. One of them keeps its lab for an hour, so test-host, which would wait for it, comes after it.
## test-all: all boots, kill points, examples and Debians, and fuzzing; RESUME=1 runs only what is left
test-all: choose-all
	@NINES_LONG=1 hack/stages.sh setup-test \
		[ build test-compile test-go , test-fresh test-engine lint test-web test-fuzz , images ] \
		[ test-vm , setup-cluster lint-cluster ] test-cluster test-host test-quiet; \
		status=$$?; build/select verify; exit $$status

# passed notes for test/verified that the tests of a target have passed in their long form.
passed = @[ -z "$(NINES_LONG)" ] || [ "$(NINES_REQUIRE)" != all ] || build/select passed target 'make $@'

# Jobs that use all CPUs for minutes run at a lower priority than the tests beside them: those carry packets in labs,
# and together they take longest.
GIVE_WAY = nice -n 8

# Go's tests run in passes, each test once: see test/passes. A target that needs them compiled waits for
# the one that compiles them: otherwise go compiles the same package twice at the same time.
PASS = hack/gotest.sh --hide-summary=skipped -- $(ONLY)
ONLY = $(if $(SELECTED),-only $(SELECTED))
.PHONY: test-compile test-binaries
test-compile:
	@mkdir -p build && flock build/lock $(MAKE) test-binaries
test-binaries: programs
	@$(GO) build -o build/passes ./test/passes
	@build/passes $(ONLY) compile

.PHONY: test-unit test-engine test-web
## test-unit: run the Go tests that need no root; as root they run as an ordinary user
test-unit: build
	$(PASS) pure

# Each test once; the long form also as the engine is built for users, without sanitizers.
## test-engine: run the engine's own tests, with sanitizers
test-engine:
	$(MAKE) -C engine $(if $(NINES_LONG),test) asan-test
	$(passed)

## test-web: run the tests of the page
test-web: web/node_modules/.package-lock.json
	cd web && npm test --silent
	$(passed)

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
	@rm -f build/vm/table.txt build/vm/passed && mkdir -p $(TEST_CACHE)
	@$(GOTESTSUM_VM) --raw-command -- $$($(GO) tool -n test2json) -t -p nines.dev/nines/test/vm \
		$(SUDO) env -C test/vm $(VM_ENV) $$(build/passes binary test/vm) -test.v=test2json -test.timeout=$(if $(NINES_LONG),100m,50m); \
		status=$$?; cat build/vm/table.txt; \
		[ -z "$(NINES_LONG)" ] || [ "$(NINES_REQUIRE)" != all ] || [ -n "$(BOOTS)$(RUN)$(ONCE)" ] || [ ! -e build/vm/passed ] || \
			build/select passed laboratory $$(cat build/vm/passed); exit $$status
# The images that the laboratory's tests boot: minutes of downloads, for which the lanes beside
# it need not wait.
images:
	@mkdir -p build $(TEST_CACHE) && flock build/lock $(MAKE) bin/nines-guest build/images
	@$(SUDO) env $(VM_ENV) build/images
build/images: FORCE
	@$(GO) build -o $@ ./test/vm/images
VM_ENV = NINES_TEST_VM=1 NINES_VM_SELECTED=$(abspath $(SELECTED)) NINES_VM_BOOTS=$(BOOTS) NINES_VM_ONCE=$(ONCE) "NINES_VM_RUN=$(RUN)" NINES_CACHE_DIR=$(TEST_CACHE) NINES_REQUIRE=$(NINES_REQUIRE) NINES_LONG=$(NINES_LONG) PATH=$(PATH):/usr/sbin:/sbin
# By the tools' paths, as `go tool` exits with 0 if the tool is killed.
GOTESTSUM_VM = $$($(TOOL) -n gotestsum) --format testname --hide-summary=skipped

# Its programs are built once, by content.
.PHONY: test-cluster
## test-cluster: test the module in cluster/, on real API servers and kubelets
test-cluster: build setup-cluster
	@mkdir -p $(TEST_CACHE)
	@$(SUDO) env NINES_LONG=$(NINES_LONG) NINES_REQUIRE=$(NINES_REQUIRE) NINES_CACHE_DIR=$(TEST_CACHE) \
		NINES_TEST_SELECTED=$(SELECTED) NINES_LIBEXEC=$(CURDIR)/bin NINES_CLUSTER_PROGRAMS=$(CURDIR)/bin/cluster PATH=$(CURDIR)/bin/cluster:$(PATH) hack/test-cluster.sh

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
	$(if $(FRESH),,$(passed))

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

# Separate from the others, because it needs all of Kubernetes compiled, which setup-cluster has done.
.PHONY: lint-cluster
## lint-cluster: find faults in the Go module in cluster/
lint-cluster: setup-cluster
	hack/lint.sh cluster

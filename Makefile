# nines: `make help` lists the targets. Everything runs as root or through sudo.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO := hack/go
ifneq ($(shell id -u),0)
SUDO := sudo
endif
VERSION := $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null || echo devel)

BPF_SOURCES := $(wildcard testbed/link/xdp/*.bpf.c)
BPF_OBJECTS := $(BPF_SOURCES:.c=.o)
# The kernel's <asm/types.h> is in the multiarch folder, which -target bpf does not search.
BPF_CFLAGS := -O2 -g -Wall -Werror -target bpf -I/usr/include/$(shell gcc -print-multiarch 2>/dev/null)
PAGE := report/page/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print)

.PHONY: help
## help: list the targets
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: quickstart
## quickstart: install what is missing, build, run examples/quickstart.yaml and show the result
quickstart: setup
	@$(MAKE) --no-print-directory build
	$(SUDO) bin/nines run examples/quickstart.yaml
	@echo "The page: $(CURDIR)/results/latest/report.html"

.PHONY: setup setup-test setup-bench
## setup: install the packages that building and running need (setup-test, setup-bench: and more)
setup:
	@hack/setup/install.sh build run
	@$(GO) version >/dev/null
setup-test:
	@hack/setup/install.sh build run test
	@$(GO) version >/dev/null
setup-bench:
	@hack/setup/install.sh build run bench
	@$(GO) version >/dev/null

.PHONY: build
## build: build bin/nines and what it needs
build: bin/nines bin/nines-engine bin/nines-init

# Go, the engine and the init know best what is out of date; they do nothing then.
.PHONY: FORCE
bin/nines: FORCE $(BPF_OBJECTS) $(PAGE)
	@$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o $@ ./cmd/nines

bin/nines-engine: FORCE
	@$(MAKE) --no-print-directory -C engine

bin/nines-init: FORCE
	@$(MAKE) --no-print-directory -C testbed/node/init

%.bpf.o: %.bpf.c
	clang $(BPF_CFLAGS) -c $< -o $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

$(PAGE): web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run --silent build

.PHONY: test test-unit test-root
## test: install what the tests need, build, run every test and the linters
test: setup-test
	$(MAKE) --no-print-directory build test-unit test-root

# Root, too, runs these as nobody: in a user namespace where it is mapped to no one.
ifeq ($(SUDO),)
UNPRIVILEGED := -exec 'unshare --user'
endif
## test-unit: run the tests that need no root
test-unit: build
	env -u NINES_REQUIRE $(GO) test $(UNPRIVILEGED) ./...

# The test binaries run as root; go itself and its caches stay the user's.
ifneq ($(SUDO),)
AS_ROOT := -exec 'sudo env NINES_REQUIRE=$(NINES_REQUIRE) PATH=$(PATH)'
endif
## test-root: run all Go tests as root, with namespaces, links and containers
test-root: build
	$(GO) test $(AS_ROOT) ./...

.PHONY: clean
## clean: remove what was built, but not results/
clean:
	rm -rf bin build $(BPF_OBJECTS) report/page web/node_modules

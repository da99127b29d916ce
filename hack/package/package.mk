# What is installed, and packages of it: targets of the Makefile above.

# An installation is one of a commit: its time, not that of the build, is in what is made.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y hack/version.txt)

.PHONY: install
## install: install below PREFIX (/usr/local), in the root DESTDIR; make install PREFIX=~/nines needs no root
PREFIX ?= /usr/local
install: build
	@mkdir -p build/manual && rm -f build/manual/*
	@$(GO) build -tags manual -ldflags '-X main.version=$(VERSION)' -o build/write-manual ./cmd/nines
	@build/write-manual build/manual
	@hack/package/install.sh '$(DESTDIR)$(PREFIX)' '$(PREFIX)' $(PROGRAMS)

.PHONY: deb tarball dist
## deb: build a Debian package of the last commit for this machine's release, in dist/
deb: setup
	@hack/setup/install.sh package
	@hack/package/deb.sh dist

## tarball: build dist/nines-VERSION-linux-amd64.tar.xz of the last commit, which works in any folder
tarball: setup
	@hack/package/tarball.sh dist

## dist: build packages for Debian 12 and 13, each in a new system of its release, and the tarball; SUITES=trixie for one
SUITES ?= bookworm trixie
dist:
	@hack/setup/install.sh dist
	$(SUDO) env TWICE=$(TWICE) DEBIAN_MIRROR=$(DEBIAN_MIRROR) hack/package/dist.sh $(SUITES)

.PHONY: test-dist
## test-dist: in a new Debian 12 and 13, install the packages of make dist, run an example, and purge; each built twice, the same bytes
test-dist:
	@$(MAKE) dist TWICE=1
	$(SUDO) env DEBIAN_MIRROR=$(DEBIAN_MIRROR) test/fresh/package.sh $(SUITES)

# Everything about delivery: make packages builds what is described in ext/packages/README.md into
# build/packages and tests it, make hosts loads the packages in every language that is installed
# here. Included by the Makefile.

PACKAGES = $(BUILD)/packages
PACKAGE_TOOLS = $(PACKAGES)/tools
PACKAGE_PYTHON = $(PACKAGE_TOOLS)/bin/python
AMALGAMATE_OPTIONS =
export AMALGAMATE_OPTIONS
RELEASE_FILES = ext/packages/release.py ext/packages/platforms.py ext/filter/version.h LICENSE
AMALGAMATION = $(PACKAGES)/amalgamation/sqlite-bloom.c

# The tools that come from PyPI: ziglang, a compiler for every platform, and what makes Python
# packages.
$(PACKAGE_PYTHON):
	$(PYTHON) -m venv $(PACKAGE_TOOLS)
	$(PACKAGE_PYTHON) -m pip install -q --disable-pip-version-check ziglang hatchling build

$(AMALGAMATION): $(SOURCES) $(HEADERS) $(RELEASE_FILES) ext/packages/amalgamation/amalgamate.py
	$(PYTHON) ext/packages/amalgamation/amalgamate.py $(AMALGAMATE_OPTIONS) $(@D)

$(PACKAGES)/binaries/built: $(AMALGAMATION) $(PACKAGE_PYTHON) ext/packages/binaries/build.py
	$(PACKAGE_PYTHON) ext/packages/binaries/build.py
	@touch $@

$(PACKAGES)/python/built: $(PACKAGES)/binaries/built \
    $(wildcard ext/packages/python/*.* ext/packages/python/*/*)
	$(PACKAGE_PYTHON) ext/packages/python/build.py
	@touch $@

$(PACKAGES)/npm/built: $(PACKAGES)/binaries/built $(wildcard ext/packages/npm/*)
	$(PYTHON) ext/packages/npm/build.py
	@touch $@

$(PACKAGES)/rust/built: $(PACKAGES)/binaries/built \
    $(wildcard ext/packages/rust/*.* ext/packages/rust/*/*)
	$(PYTHON) ext/packages/rust/build.py
	@touch $@

$(PACKAGES)/go/built: $(PACKAGES)/binaries/built $(wildcard ext/packages/go/*)
	$(PYTHON) ext/packages/go/build.py
	@touch $@

$(PACKAGES)/debian/built: $(PACKAGES)/binaries/built README.md CHANGELOG.md $(wildcard ext/*.md) \
    $(wildcard ext/packages/debian/*)
	$(PYTHON) ext/packages/debian/build.py
	@touch $@

# The recipes and the list are part of the page.
$(PACKAGES)/web/built: $(AMALGAMATION) \
    $(wildcard ext/packages/web/* ext/packages/web/*/* sql/*.sql sql/data/*)
	$(PYTHON) ext/packages/web/build.py
	@touch $@

PACKAGES_BUILT = $(addprefix $(PACKAGES)/,\
    $(addsuffix /built,binaries python npm rust go debian web))

packages: $(LIBRARY) $(PACKAGES_BUILT)
	@$(PYTHON) tests/runner/run.py \
	    'amalgamation=$(PYTHON) tests/packages/amalgamation_test.py' \
	    'binaries=$(PYTHON) tests/packages/binaries_test.py' \
	    'Python packages=$(PYTHON) tests/packages/python_test.py' \
	    'npm packages=$(PYTHON) tests/packages/npm_test.py' \
	    'crate, Go module, Debian package=$(PYTHON) tests/packages/compiled_test.py' \
	    'WebAssembly and the page=$(PYTHON) tests/packages/web_test.py'

# make hosts, or make hosts HOSTS="PHP Ruby": the packages in every language that is installed here.
hosts: $(PACKAGES)/binaries/built $(PACKAGES)/python/built $(PACKAGES)/npm/built
	@$(PYTHON) tests/hosts/hosts.py $(HOSTS)

.PHONY: packages hosts

# Everything about delivery, as ext/packages/README.md describes it: make packages builds all
# packages into build/packages and tests them, a target for each builds it alone, make hosts loads
# them in other languages that are installed here. Included by the Makefile.
#
#:
#: To deliver it:
#: make packages       every package that can be built here, tested; says what the others need
#: make amalgamation   all sources in one file, for a program that links them in
#: make binaries       the library for eight platforms
#: make wheel          the Python packages
#: make npm            the npm packages
#: make crate          the Rust crate
#: make deb            the Debian packages, source and binary (needs build-essential)
#: make jar            the Java package, in a repository of Maven's form
#: make gem            the Ruby gem
#: make recipes        the recipes for conda and Conan
#: make page           SQLite with bloom as WebAssembly, and the page to try it
#: make site           the pages as a site with search; the page to try it is a tab if it is built
#: make screenshot     the picture of that page, which README shows (needs Chromium)
#: make drivers        what the tests of packages and hosts need of PyPI and npm, once
#: make hosts          loads the packages in other languages that are installed here
#: make ci             all of long, coverage, packages, hosts and clusters in one run

PACKAGES = $(BUILD)/packages
PACKAGE_TOOLS = $(PACKAGES)/tools
PACKAGE_PYTHON = $(PACKAGE_TOOLS)/bin/python
RELEASE_FILES = LICENSE ext/base/version.h $(addprefix ext/packages/,release.py platforms.py)
# What make amalgamation makes; amalgamation/built is the last of it.
AMALGAMATION = $(PACKAGES)/amalgamation/built

# The tools that come from PyPI: ziglang, a compiler for every platform, and what makes packages for
# Python, conda and Conan.
PACKAGE_TOOLS_READY = $(PACKAGE_TOOLS)/ready
$(PACKAGE_TOOLS_READY): ext/packages/requirements.txt
	$(PYTHON) -m venv $(PACKAGE_TOOLS)
	$(PACKAGE_PYTHON) -m pip install -q --disable-pip-version-check --no-compile \
	    -r ext/packages/requirements.txt
	@touch $@

# npm install takes the folder as it is. The addon finds Node's functions in the program that loads
# it.
all: ext/packages/npm/$(LIBRARY) ext/packages/npm/filter.node
ext/packages/npm/$(LIBRARY): $(LIBRARY)
	@cp $< $@
ext/packages/npm/filter.node: ext/packages/npm/filter.c ext/packages/nodejs/node_api.h \
    $(FILTER_LIBRARY)
	$(call say,LINK,$@)$(COMPILE) $(LDFLAGS) $(SHARED) -fPIC -fvisibility=hidden \
	    $(if $(findstring dylib,$(LIBRARY)),-undefined dynamic_lookup) \
	    -Iext/packages/nodejs -o $@ $< $(FILTER_LIBRARY) -lm

# What the tests of packages and hosts need of PyPI and npm besides the packages.
DRIVERS = $(BUILD)/drivers/ready
$(DRIVERS): tests/packages/fetch.sh
	PYTHON=$(PYTHON) sh tests/packages/fetch.sh
	@touch $@

$(AMALGAMATION): ext/sqlite-bloom.c ext/sqlite-bloom-filter.c $(SOURCES) $(HEADERS) \
    $(RELEASE_FILES) $(wildcard ext/packages/amalgamation/* ext/packages/sqlite/*)
	$(PYTHON) ext/packages/amalgamation/amalgamate.py $(@D)
	@touch $@

# The packages are built by the build.py of their folders, with the tools of PyPI where they need
# them.
$(PACKAGES)/%/built:
	$(if $(filter $(PACKAGE_TOOLS_READY),$^),$(PACKAGE_PYTHON),$(PYTHON)) ext/packages/$*/build.py
	@touch $@
$(PACKAGES)/binaries/built: $(AMALGAMATION) $(PACKAGE_TOOLS_READY) ext/packages/binaries/build.py
$(PACKAGES)/python/built: $(PACKAGES)/binaries/built $(PACKAGE_TOOLS_READY) $(wildcard \
    ext/packages/cpython/* $(addprefix ext/packages/python/,*.* */*.* */*/*.*))
$(PACKAGES)/npm/built: $(PACKAGES)/binaries/built $(PACKAGE_TOOLS_READY) \
    $(wildcard ext/packages/npm/* ext/packages/nodejs/*)
$(PACKAGES)/rust/built: $(AMALGAMATION) $(wildcard ext/packages/rust/*.* ext/packages/rust/*/*)
$(PACKAGES)/java/built: $(PACKAGES)/binaries/built \
    $(wildcard ext/packages/java/*.* ext/packages/java/src/main/java/*/*)
$(PACKAGES)/ruby/built: $(PACKAGES)/binaries/built $(wildcard $(addprefix ext/packages/ruby/,* */*))
$(PACKAGES)/recipes/built: $(AMALGAMATION) $(PACKAGE_TOOLS_READY) $(wildcard ext/packages/recipes/*)
# Of the sources, as any file of the project may be in it.
$(PACKAGES)/debian/built: $(SOURCES) $(HEADERS) $(RELEASE_FILES) Makefile README.md CHANGELOG.md \
    sql/REFERENCE.md $(wildcard ext/*.md ext/packages/debian/* ext/packages/debian/*/* \
    tests/sql/* tests/runner/*)
# The recipes and the list are part of the page.
$(PACKAGES)/web/built: $(AMALGAMATION) \
    $(wildcard ext/packages/web/* ext/packages/web/*/* sql/*.sql sql/data/*) sql/README.md \
    ext/packages/sql_recipes.py
# The site has that page if it can be built here.
SITE_SOURCES = $(shell find . -path './[b.]*' -prune -o \( -name '*.md' -o -name '*.svg' -o \
    -path './sql/*.*' \) -print)
$(PACKAGES)/site/built: $(PACKAGE_TOOLS_READY) $(RELEASE_FILES) ext/packages/sql_recipes.py \
    $(wildcard ext/packages/site/*) $(SITE_SOURCES) \
    $(if $(shell command -v emcc && command -v npm),$(PACKAGES)/web/built)

# One target for each package. packages.py knows what each needs, and says what is missing.
amalgamation: need-amalgamation $(AMALGAMATION)
binaries: need-binaries $(PACKAGES)/binaries/built
wheel: need-wheel $(PACKAGES)/python/built
npm: need-npm $(PACKAGES)/npm/built
crate: need-crate $(PACKAGES)/rust/built
deb: need-deb $(PACKAGES)/debian/built
jar: need-jar $(PACKAGES)/java/built
gem: need-gem $(PACKAGES)/ruby/built
recipes: need-recipes $(PACKAGES)/recipes/built
page: need-page $(PACKAGES)/web/built
site: need-site $(PACKAGES)/site/built
drivers: $(DRIVERS)
screenshot: page drivers
	$(PYTHON) tests/packages/screenshot.py

need-%:
	@$(PYTHON) ext/packages/packages.py can $* >/dev/null

PACKAGE_SUITES = $(shell $(PYTHON) ext/packages/packages.py suites)
HOST_SUITE = 'hosts=[drivers $(shell $(PYTHON) ext/packages/packages.py can binaries wheel npm)] \
    $(PYTHON) tests/hosts/hosts_test.py'
# Much of it waits: for registries, for a browser, for one thread of a compiler.
WAITING_RUN = JOBS=$${JOBS:-$$((2 * $$(nproc)))} MAKE='$(MAKE)' $(RUN)
packages: $(LIBRARY)
	+@$(WAITING_RUN) $(PACKAGE_SUITES)
	@$(PYTHON) ext/packages/packages.py sums

# make hosts, or make hosts CASE=PHP: the packages in other languages that there are here.
hosts: $(LIBRARY)
	+@$(WAITING_RUN) $(HOST_SUITE)

# In one run. What takes longest begins first, so that no processor is idle at the end.
# Debian 12's own Go is too old to build actionlint (go install
# github.com/rhysd/actionlint/cmd/actionlint@latest).
ci: $(LIBRARY)
	+@$(WAITING_RUN) $(HOST_SUITE) $(PACKAGE_SUITES) \
	    'coverage=PYTHON=$(PYTHON) sh tests/coverage/run.sh' $(LONG_SUITES) $(CLUSTER_SUITES) \
	    'formatted sources=git ls-files "*.c" "*.h" | xargs clang-format --dry-run -Werror && \
	        echo 1 passed, 0 failed' \
	    'workflows=if command -v actionlint; then actionlint && echo 1 passed, 0 failed; \
	        else echo "skipped: actionlint is not installed"; echo 0 passed, 0 failed, 1 skipped; fi'

.PHONY: amalgamation binaries wheel npm crate deb jar gem recipes page site drivers screenshot
.PHONY: packages hosts ci

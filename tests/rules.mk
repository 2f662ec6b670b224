# How the tests are built and run; included by the Makefile. tests/README.md says what is where.
#
#: make test           what must pass, in a minute on two cores; ONLY=WORD: what is named so
#: make fetch          what make test needs of PyPI and npm, once
#: make check          the same and what takes longer
#: make long           what takes longer, as CI runs it
#: make exhaustive     what goes through every case
#: make coverage       which lines and branches of ext/ the tests reach
#: make mutants        changes N lines of ext/, one at a time, and says which change no test sees
#: make bench          measures and draws, into tests/bench/results
#: make clusters       filters in replicated SQLite, three nodes each
#: make newcomer       README typed in a bare Debian and Ubuntu; root and debootstrap
#
# They need Python, and the unit tests cmocka. run.py skips what is not installed, and names the
# package of Debian.
export ONLY CASE

# Unit tests of the filter library.
LIBRARY_TESTS = $(patsubst tests/library/%.c,$(BUILD)/tests/%,$(wildcard tests/library/*_test.c))

# With sanitizers where the compiler has them; it is asked once, when the first test is built. The
# programs share one library, so that a change of a source links that alone.
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE = $(eval SANITIZE := $$(shell echo 'int main(void) { return 0; }' | \
    $(CC) $(SANITIZERS) -x c -o /dev/null - 2>/dev/null && \
    echo '$(SANITIZERS) -fno-omit-frame-pointer'))$(SANITIZE)
$(eval $(call objects,sanitized,-fPIC $$(SANITIZE)))
# They find it beside themselves, so that a copy of the tree tests the library of the copy.
SANITIZED_LIBRARY = $(BUILD)/sanitized/filter.so
ifeq ($(shell uname -s),Darwin)
BESIDE = -Wl,-rpath,@loader_path/../sanitized
NAMED = -Wl,-install_name,@rpath/filter.so
else
BESIDE = -Wl,-rpath,'$$ORIGIN/../sanitized'
NAMED = -Wl,-soname,filter.so
endif
$(SANITIZED_LIBRARY): $(call objects_of,sanitized,$(LIBRARY_SOURCES))
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(SHARED) $(NAMED) -o $@ $^ -lm
TESTED_LIBRARY = $(SANITIZED_LIBRARY) $(BESIDE)
# The extension with sanitizers. A program that has none must load their library before it.
SANITIZED_EXTENSION = $(BUILD)/sanitized/$(LIBRARY)
$(SANITIZED_EXTENSION): $(call objects_of,sanitized,$(SOURCES))
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(SHARED) -o $@ $^ -lm
$(LIBRARY_TESTS): | $(SANITIZED_LIBRARY)
# CASE=NAME chooses one test of a program; * and ? in it stand for others.
CASE_OBJECT = $(BUILD)/tests/case.o
$(CASE_OBJECT): tests/runner/case.c
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

$(LIBRARY_TESTS): $(BUILD)/tests/%: tests/library/%.c $(CASE_OBJECT) tests/rules.mk
	$(COMPILE) $(SANITIZE) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(CASE_OBJECT) \
	    $(TESTED_LIBRARY) -lcmocka -lm

# SQLite and the extension in one program, so that the program may replace SQLite's allocator and
# file system.
#
#     make SQLITE=folder BUILD=build/other build/other/tests/message_test
#
# takes the SQLite whose amalgamation (sqlite3.c, sqlite3.h) is in a folder, instead of the
# system's; with LINKED_SANITIZERS= all is compiled for speed. Each needs a BUILD of its own.
LINKED_TESTS = $(patsubst tests/faults/%.c,$(BUILD)/tests/%,$(wildcard tests/faults/*_test.c)) \
    $(BUILD)/tests/simulator $(BUILD)/tests/cost_test $(BUILD)/tests/sequences_test \
    $(BUILD)/tests/threads_test
LINKED_SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(eval $(call objects,linked,-DSQLITE_CORE $$(LINKED_SANITIZERS)))
# The folders that know no SQLite are built as for the unit tests.
NO_SQLITE = $(LIBRARY_FOLDERS:%=ext/%/%)
LINKED_OBJECTS = $(call objects_of,linked,$(filter-out $(NO_SQLITE),$(SOURCES))) \
    $(call objects_of,$(if $(LINKED_SANITIZERS),sanitized,linked),$(filter $(NO_SQLITE),$(SOURCES)))
LINKED_FLAGS = $(LINKED_SANITIZERS)
# Calls the test in each basic block of ext/, which counts them.
$(eval $(call objects,counted,-DSQLITE_CORE -fsanitize-coverage=trace-pc))
$(BUILD)/tests/cost_test: LINKED_OBJECTS = $(call objects_of,counted,$(SOURCES))
$(BUILD)/tests/cost_test: $(call objects_of,counted,$(SOURCES))
$(LINKED_TESTS): $(LINKED_OBJECTS) tests/rules.mk
ifdef SQLITE
LINKED_SQLITE = $(BUILD)/sqlite3.o -ldl
CPPFLAGS := -I$(SQLITE) $(CPPFLAGS)
$(LINKED_TESTS): $(BUILD)/sqlite3.o
$(BUILD)/sqlite3.o: $(SQLITE)/sqlite3.c
	@mkdir -p $(@D)
	$(CC) $(if $(LINKED_SANITIZERS),-O0 -fsanitize=address,-O2) -g -w \
	    -DSQLITE_ENABLE_DESERIALIZE -DSQLITE_ENABLE_JSON1 -DSQLITE_ENABLE_COLUMN_METADATA \
	    -c -o $@ $<
else
LINKED_SQLITE = -lsqlite3
endif
LINK = $(COMPILE) -D_XOPEN_SOURCE=700 -DSQLITE_CORE $(LINKED_FLAGS)
CMOCKA = $(CASE_OBJECT) -lcmocka
# These count by themselves, and so run where cmocka is not installed.
$(foreach name,memory refusal,$(BUILD)/tests/$(name)_test): CMOCKA =
$(BUILD)/tests/%_test: tests/faults/%_test.c $(CASE_OBJECT) $(wildcard tests/faults/*.h)
	$(LINK) -o $@ $(filter tests/%.c,$^) $(CMOCKA) $(LINKED_OBJECTS) $(LINKED_SQLITE) \
	    -lpthread -lm
COMMIT = $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
SIMULATOR = $(wildcard tests/simulator/*.[ch])
SEQUENCES = $(wildcard tests/tables/sequences_*.[ch])
$(BUILD)/tests/simulator: $(SIMULATOR)
$(BUILD)/tests/sequences_test: $(SEQUENCES)
$(BUILD)/tests/simulator $(BUILD)/tests/sequences_test:
	@mkdir -p $(@D)
	$(LINK) -DSIMULATOR_COMMIT='"$(COMMIT)"' -o $@ $(filter tests/%.c,$^) \
	    $(LINKED_OBJECTS) $(LINKED_SQLITE) -lpthread -lm

# For make coverage; tests/threads/run.sh builds it with ThreadSanitizer.
$(BUILD)/tests/threads_test: tests/threads/threads_test.c \
    $(call objects_of,sanitized,ext/sqlite-bloom-filter.c)
	$(LINK) -o $@ $(filter %.c %.o,$^) $(filter -%,$(LINKED_SQLITE)) -lpthread -lm

$(BUILD)/tests/cost_test: tests/tables/cost_test.c $(CASE_OBJECT)
	$(LINK) -o $@ $< $(CASE_OBJECT) $(LINKED_OBJECTS) -lcmocka $(LINKED_SQLITE) -lpthread -lm

# $(call limited,NAME,FLAGS): the extension, the unit tests, the simulator and the sequences with
# other limits, in build/NAME. Files that know no SQLite are the same objects in all of them.
include tests/limits.mk
define limited
$(call objects,$(1),-fPIC -fvisibility=hidden $(2))
$(call objects,$(1)_linked,-DSQLITE_CORE $(2))
$(call objects_of,$(1),$(SOURCES) $(LIBRARY_SOURCES)) $(call objects_of,$(1)_linked,$(SOURCES)): \
    tests/limits.mk
$(BUILD)/$(1)/$(LIBRARY): $(call objects_of,$(1),$(SOURCES))
	$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(SHARED) -o $$@ $$^ -lm
$(LIBRARY_TESTS:$(BUILD)/%=$(BUILD)/$(1)/%): $(BUILD)/$(1)/tests/%: tests/library/%.c \
    $(CASE_OBJECT) $(call objects_of,$(1),$(LIBRARY_SOURCES)) tests/rules.mk
	@mkdir -p $$(@D)
	$$(COMPILE) $(2) $$(LDFLAGS) -MMD -MP -MF $$@.d -o $$@ $$(filter %.c %.o,$$^) \
	    -lcmocka -lm
$(BUILD)/$(1)/tests/simulator: $(SIMULATOR)
$(BUILD)/$(1)/tests/sequences_test: $(SEQUENCES)
$(BUILD)/$(1)/tests/simulator $(BUILD)/$(1)/tests/sequences_test: tests/rules.mk \
    $(call objects_of,$(1)_linked,$(filter-out $(NO_SQLITE),$(SOURCES))) \
    $(call objects_of,$(1),$(filter $(NO_SQLITE),$(SOURCES))) $(filter %.o,$(LINKED_SQLITE))
	@mkdir -p $$(@D)
	$$(LINK) $(2) -DSIMULATOR_COMMIT='"$$(COMMIT)"' -o $$@ $$(filter %.c %.o,$$^) \
	    $$(filter -%,$$(LINKED_SQLITE)) -lpthread -lm
endef
SMALL = $(BUILD)/small
$(eval $(call limited,small,$(call limits_of,1)))
$(SMALL)/tests/%: LINKED_FLAGS =
# The limits that users get, without sanitizers.
FAST = $(BUILD)/fast
$(eval $(call limited,fast,))
$(FAST)/tests/%: LINKED_FLAGS =
# Those of `make long` have sanitizers.
SMALL_SANITIZED = $(BUILD)/small_sanitized
ODD = $(BUILD)/odd
$(eval $(call limited,small_sanitized,$(call limits_of,1) $$(SANITIZE)))
$(eval $(call limited,odd,$(call limits_of,2) $$(SANITIZE)))
# Python's own blocks are not freed when it ends.
under_sanitizers = ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 \
    LD_PRELOAD=$$(ldd $(1) | awk "/libasan/ {print \$$3}")
# $(call limited_suites,NAME,FOLDER,BEFORE): what runs on such a build. These tests reach no limit.
REACH_NO_LIMIT = %/growth_test %/number_test %/portable_test %/sizing_test
limited_suites = \
    $(foreach program,$(notdir $(filter-out $(REACH_NO_LIMIT),$(LIBRARY_TESTS))), \
        '$(program) with $(1) limits=$(2)/tests/$(program)') \
    'scripts with $(1) limits=[$(2)/$(LIBRARY)] $(3) CACHE_SIZE=2 \
        $(PYTHON) tests/runner/sqllogictest.py --load $(2)/$(LIBRARY) tests/sql' \
    'filter tables with $(1) limits=[$(2)/$(LIBRARY)] $(3) CACHE_SIZE=2 \
        EXTENSION=$(2)/$(LIBRARY) $(PYTHON) tests/tables/table_test.py' \
    'plans with $(1) limits=[$(2)/$(LIBRARY)] $(3) CACHE_SIZE=2 SEED=5 \
        EXTENSION=$(2)/$(LIBRARY) $(PYTHON) tests/random/plans_test.py' \
    'sequences with $(1) limits=CACHE_SIZE=2 STATEMENTS=2 RARE=1 SORTS=plain \
        KINDS="memory memdb wal" $(2)/tests/sequences_test' \
    'simulator with $(1) limits=SEED=500 STEPS=30000 $(2)/tests/simulator'

# A suite is NAME=COMMAND; run.py builds what they need and runs them side by side. The closer
# a suite is to the cause of a failure, the earlier it runs: unit tests, scripts, what is held
# against an oracle, pages, faults, the simulator.
unit_suites = $(foreach program,$(1),'$(notdir $(program))=$(program)')
NEWEST_PYTHON = PYTHON=$(PYTHON) sh tests/runner/newest.sh
NEWEST = $(NEWEST_PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY)
TEST_SUITES = \
    $(call unit_suites,$(LIBRARY_TESTS)) \
    'pins=$(BUILD)/tests/pins_test' \
    'messages=$(BUILD)/tests/message_test' \
    'callbacks=$(BUILD)/tests/callbacks_test' \
    'scripts=$(PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY) tests/sql' \
    $(call limited_suites,small,$(SMALL)) \
    'build=[all] $(PYTHON) tests/build/build_test.py' \
    'URLs and their parsers=$(PYTHON) tests/documentation/urls_test.py Parsers Page' \
    'filter tables=$(PYTHON) tests/tables/table_test.py' \
    'filter tables under changesets=$(NEWEST_PYTHON) tests/tables/table_test.py Amid Changesets' \
    'planner=$(PYTHON) tests/tables/planner_test.py' \
    'planner of the newest SQLite=$(NEWEST_PYTHON) tests/tables/planner_test.py' \
    'plans=$(PYTHON) tests/random/plans_test.py' \
    'formats by their pages=$(PYTHON) tests/documentation/format_test.py' \
    'lines and numbers=$(PYTHON) tests/random/lines_test.py' \
    'tables of fields=$(PYTHON) tests/random/fields_test.py' \
    'plain URLs=[all $(SMALL)/$(LIBRARY)] $(PYTHON) tests/random/plain_test.py \
        $(abspath $(SMALL)/$(LIBRARY))' \
    'two SQLite libraries=$(PYTHON) tests/hosts/two_libraries_test.py' \
    'rates of filter tables=$(PYTHON) tests/tables/rates_test.py' \
    'foreign formats=$(PYTHON) tests/exchange/foreign_test.py' \
    'text in messages=$(PYTHON) tests/random/quote_test.py' \
    'recipes=$(PYTHON) tests/documentation/recipes_test.py Recipes Demo' \
    'own visits=$(PYTHON) tests/documentation/visits_test.py Own' \
    'documentation=$(PYTHON) tests/documentation/documentation_test.py' \
    'scripts that ask for a newer SQLite=$(NEWEST) $(shell grep -l '>=3\.4[4-9]' tests/sql/*.test)' \
    'sequences=STATEMENTS=2 RARE=1 SORTS=plain $(FAST)/tests/sequences_test' \
    'sequences amid a query=STATEMENTS=2 RARE=1 SORTS=plain STARTS=open KINDS="memory wal" \
        $(FAST)/tests/sequences_test' \
    'sequences under sanitizers=STATEMENTS=1 $(BUILD)/tests/sequences_test' \
    'simulator, twenty rounds=STEPS=8000 $(BUILD)/tests/simulator' \
    'refusals by place=PLACES=1 $(BUILD)/tests/refusal_test' \
    'memory failures by place=PLACES=1 $(BUILD)/tests/memory_test' \
    'passes=$(BUILD)/tests/passes_test' \
    'the class Filter of Node.js=[all] if command -v node >/dev/null; \
        then node tests/packages/npm_filter.cjs; \
        else echo "skipped: node is not installed"; echo "0 passed, 0 failed, 1 skipped"; fi' \
    'sources=$(PYTHON) tests/build/sources_test.py' \
    'script runner=$(PYTHON) tests/runner/sqllogictest_test.py' \
    'runner of suites=$(PYTHON) tests/runner/run_test.py'

# What takes longer: see the files; what is not installed is skipped and says so. Minutes each take
# those at the top.
SMALL_SANITIZED_SUITES = $(call limited_suites,small sanitized,$(SMALL_SANITIZED),$(call \
    under_sanitizers,$(SMALL_SANITIZED)/$(LIBRARY)))
LONG_SUITES = \
    'scripts under sanitizers=[$(SANITIZED_EXTENSION)] \
        $(call under_sanitizers,$(SANITIZED_EXTENSION)) $(PYTHON) tests/runner/sqllogictest.py \
        --load $(SANITIZED_EXTENSION) tests/sql' \
    $(call limited_suites,odd,$(ODD),$(call under_sanitizers,$(ODD)/$(LIBRARY))) \
    $(SMALL_SANITIZED_SUITES) \
    'fuzzing, five seconds each=SECONDS_EACH=5 sh tests/fuzz/run.sh' \
    'faults on the oldest SQLite=PLACES=1 $(PYTHON) tests/hosts/releases_test.py Oldest' \
    'faults on the newest SQLite=PLACES=1 $(PYTHON) tests/hosts/releases_test.py Newest' \
    'lists and resolvers=$(PYTHON) tests/exchange/lists_test.py' \
    'lists and engines that block=$(PYTHON) tests/exchange/engines_test.py' \
    'oldest SQLite=$(PYTHON) tests/hosts/releases_test.py Scripts' \
    'the program around it=$(BUILD)/tests/host_test' \
    'threads=sh tests/threads/run.sh' \
    'scripts on the newest SQLite=$(NEWEST) tests/sql' \
    'scripts on the SQLite of Ubuntu 24.04=APSW=3.45.1.0 $(NEWEST) tests/sql' \
    'plans, more=SEED=2 QUERIES=10000 $(PYTHON) tests/random/plans_test.py' \
    'plans on the newest SQLite=SEED=3 QUERIES=10000 $(NEWEST_PYTHON) tests/random/plans_test.py' \
    'sequences of three=STATEMENTS=3 RARE=0 SORTS=plain $(FAST)/tests/sequences_test' \
    'sequences of three, one rare=STATEMENTS=3 RARE=1 SORTS=plain KINDS="memory memdb wal" \
        $(FAST)/tests/sequences_test' \
    'simulator=SEED=1000 STEPS=30000 $(BUILD)/tests/simulator' \
    'costs=$(BUILD)/tests/cost_test' \
    'URLs and their parsers, more=COUNT=30000 $(PYTHON) tests/documentation/urls_test.py' \
    'slow recipes=$(PYTHON) tests/documentation/recipes_test.py SlowRecipes' \
    'visits of real browsers=$(PYTHON) tests/documentation/visits_test.py Browsers' \
    'programs of the recipes=$(PYTHON) tests/exchange/programs_test.py' \
    'tables and values of real sizes=$(PYTHON) tests/tables/sizes_test.py' \
    'a filter of 1 GB=$(PYTHON) tests/exchange/large_test.py' \
    'platforms=$(PYTHON) tests/hosts/platforms_test.py Platforms' \
    'options of SQLite=$(PYTHON) tests/hosts/platforms_test.py Options'

# What goes through every case: make check runs it, CI does not.
EXHAUSTIVE_SUITES = \
    'memory failures=$(BUILD)/tests/memory_test' \
    'refusals=$(BUILD)/tests/refusal_test' \
    'sequences of three, all=STATEMENTS=3 $(FAST)/tests/sequences_test' \
    'sequences of four=STATEMENTS=4 RARE=0 $(FAST)/tests/sequences_test' \
    'sequences of five=STATEMENTS=5 RARE=0 SORTS=plain KINDS="memory memdb" \
        $(FAST)/tests/sequences_test' \
    'costs on the oldest SQLite=PROGRAMS=cost $(PYTHON) tests/hosts/releases_test.py Oldest' \
    'costs on the newest SQLite=PROGRAMS=cost $(PYTHON) tests/hosts/releases_test.py Newest' \
    'sizing table=$(PYTHON) tests/library/sizing_table_test.py' \
    'rates of filter tables, more=KEYS=100000 $(PYTHON) tests/tables/rates_test.py' \
    'fuzzing=sh tests/fuzz/run.sh' \
    '40,000 plans=SEED=4 QUERIES=40000 $(PYTHON) tests/random/plans_test.py' \
    '300,000 spellings of URLs=SEED=2 COUNT=300000 $(PYTHON) tests/documentation/urls_test.py'

# With ONLY all that there is: those of make long, packages, hosts and clusters, too. Not the
# exhaustive ones, of which make exhaustive ONLY=WORD chooses.
SUITES_OF_PACKAGES = $(shell $(PYTHON) ext/packages/packages.py suites)
OTHER_SUITES = $(LONG_SUITES) $(CLUSTER_SUITES) $(SUITES_OF_PACKAGES) \
    'hosts in their languages=[binaries wheel npm drivers] $(PYTHON) tests/hosts/hosts.py'

RUN = $(PYTHON) tests/runner/run.py --build $(LIBRARY)
test:
	@command -v $(PYTHON) >/dev/null || \
	    { echo 'make test needs python3: apt-get install python3' >&2; exit 1; }
	@+MAKE='$(MAKE)' $(RUN) $(TEST_SUITES) $(if $(ONLY),$(OTHER_SUITES))

fetch:
	@PYTHON=$(PYTHON) sh tests/fetch.sh

# The tests and what takes longer. CI runs test and long.
check: test long exhaustive

long exhaustive:
	@+MAKE='$(MAKE)' $(RUN) $(if $(filter long,$@),$(LONG_SUITES),$(EXHAUSTIVE_SUITES))

# Which lines and branches of ext/ the tests reach, and whether what they do not reach is known and
# explained.
coverage:
	@PYTHON=$(PYTHON) sh tests/coverage/run.sh

# Changes one place of ext/ after the other and says which change no test sees: make mutants N=200
# SEED=1 WORD=filter. Those that change a limit are also run under sanitizers with small limits.
mutants:
	@$(PYTHON) tests/mutants/run.py $(TEST_SUITES) $(SMALL_SANITIZED_SUITES)

# Measures and draws, into tests/bench/results; tests/bench/run.sh says what is needed for more than
# the default.
bench: $(LIBRARY)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" LIBRARY=$(LIBRARY) OBJECTS="$(OBJECTS)" sh tests/bench/run.sh

.PHONY: test fetch check long exhaustive coverage mutants bench

# Filters in replicated SQLite, each engine as a cluster of three processes on loopback; what is not
# installed is skipped and says so. The figures of the last run: tests/clusters/README.md.
CLUSTER_SUITES = \
    'libSQL=$(PYTHON) tests/clusters/clusters_test.py libSQL' \
    'dqlite=$(PYTHON) tests/clusters/clusters_test.py dqlite' \
    'rqlite=$(PYTHON) tests/clusters/clusters_test.py rqlite'
clusters:
	@+JOBS=1 MAKE='$(MAKE)' $(RUN) $(CLUSTER_SUITES)

.PHONY: clusters

# README, as somebody types it who has nothing; ROOTS=FOLDER keeps the bare systems.
newcomer:
	@$(PYTHON) tests/documentation/newcomer_test.py

.PHONY: newcomer

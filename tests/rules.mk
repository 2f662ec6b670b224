# How the tests are built and run; included by the Makefile. tests/README.md says what is where.
#
#: make test           what must pass, in a minute on two cores; test, long, exhaustive, packages
#:                     and clusters take ONLY=WORD: suites whose name or path has that word
#: make fetch          what make test needs of PyPI and npm, once
#: make check          the same and what takes longer
#: make long           what takes longer, as CI runs it
#: make exhaustive     what goes through every case
#: make coverage       which lines and branches of ext/ the tests reach
#: make mutants        changes N lines of ext/, one at a time, and says which change no test sees
#: make bench          measures and draws, into tests/bench/results
#: make clusters       filters in replicated SQLite, three nodes each
#: make newcomer       README typed in a bare Debian and Ubuntu; root and debootstrap
#: make build/plain/bloom.so       a build for tests, with limits from the environment;
#:                     build/sanitized, coverage and counted are others (tests/README.md)
#
# They need Python, and the unit tests cmocka. run.py skips what is not installed, and names the
# package of Debian.
export ONLY CASE

# What the builds of tests have besides the product: limits that the environment sets, and
# assertions of what each method of a filter table leaves in memory.
TEST_FLAGS = -DBLOOM_TEST -DBLOOM_ASSERTS

# Sanitizers, where the compiler has them; it is asked once, when the first test is built.
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE = $(eval SANITIZE := $$(shell echo 'int main(void) { return 0; }' | \
    $(CC) $(SANITIZERS) -x c -o /dev/null - 2>/dev/null && \
    echo '$(SANITIZERS) -fno-omit-frame-pointer'))$(SANITIZE)

# The SQLite of programs: the system's, or with SQLITE=folder the one whose amalgamation (sqlite3.c,
# sqlite3.h) is there. Each needs a BUILD of its own.
ifdef SQLITE
TESTED_SQLITE = $(BUILD)/sqlite3.o -ldl
CPPFLAGS := -I$(SQLITE) $(CPPFLAGS)
$(BUILD)/sqlite3.o: $(SQLITE)/sqlite3.c
	@mkdir -p $(@D)
	$(CC) -O0 -fsanitize=address -g1 -w -DSQLITE_ENABLE_DESERIALIZE -DSQLITE_ENABLE_JSON1 \
	    -DSQLITE_ENABLE_COLUMN_METADATA -c -o $@ $<
else
TESTED_SQLITE = -lsqlite3
endif
# The folders that know no SQLite are those of build, whatever SQLite is.
of_any_sqlite = $(patsubst $(BUILD)/%,$(if $(SQLITE),build,$(BUILD))/%,$(call objects_of,$(1), \
    $(LIBRARY_SOURCES)))
# Programs find the library beside their folder, so that a copy of the tree tests that of the copy.
ifeq ($(shell uname -s),Darwin)
BESIDE = -Wl,-rpath,@loader_path/..
NAMED = -Wl,-install_name,@rpath/$(LIBRARY)
else
BESIDE = -Wl,-rpath,'$$ORIGIN/..'
NAMED = -Wl,-soname,$(LIBRARY),-Bsymbolic
endif
# These count by themselves, and so run where cmocka is not installed.
WITHOUT_CMOCKA = threads_test world
cmocka = $(if $(filter $(WITHOUT_CMOCKA),$(1)),,-lcmocka)
# -fPIC: without it a program would have copies of the library's tables, at other addresses.
PROGRAM_FLAGS = -fPIC -D_XOPEN_SOURCE=700 -DSQLITE_CORE

# $(call test_build,NAME,FLAGS): the extension and the filter library in build/NAME/bloom.so, all of
# whose names can be used, and the programs that are linked with it, in build/NAME/tests. A program
# is a file, or all files of a folder.
define test_build
$(call objects,$(1),-fPIC $(TEST_FLAGS) $(2))
$(if $(SQLITE),$(subst $(BUILD)/,build/,$(call objects,$(1),-fPIC $(TEST_FLAGS) $(2))))
$(BUILD)/$(1)/limits.o: tests/runner/limits.c ext/base/limits.h
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)$$(COMPILE) -fPIC $(TEST_FLAGS) $(2) -c -o $$@ $$<
$(BUILD)/$(1)/$(LIBRARY): $(call objects_of,$(1),$(filter-out $(LIBRARY_SOURCES),$(SOURCES))) \
    $(call of_any_sqlite,$(1)) $(BUILD)/$(1)/limits.o
	$$(call say,LINK,$$@)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(SHARED) $$(NAMED) -o $$@ $$^ -lm
$(foreach folder,library faults tables threads,$(call test_programs,$(1),$(2),\
    %_test: tests/$(folder)/%_test.c $(wildcard tests/$(folder)/*.h)))
$(call test_programs,$(1),$(2),world: $(wildcard tests/world/*.[ch]))
endef
define test_programs

$(BUILD)/$(1)/tests/$(strip $(3)) tests/rules.mk $(filter %.o,$(TESTED_SQLITE)) \
    $(BUILD)/$(1)/$(LIBRARY)
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(COMPILE) $(TEST_FLAGS) $(filter-out -fsanitize-coverage=%,$(2)) \
	    $$(PROGRAM_FLAGS) $$(LDFLAGS) -MMD -MP \
	    -MF $$@.d -o $$@ $$(filter tests/%.c,$$^) $(BUILD)/$(1)/$(LIBRARY) $$(BESIDE) \
	    $$(call cmocka,$$(@F)) $$(TESTED_SQLITE) -lpthread -lm
endef
# The builds of tests. README.md says what runs on which.
PLAIN = $(BUILD)/plain
SANITIZED = $(BUILD)/sanitized
# Less optimised, and with lines alone for debuggers, they are compiled in half of the time. And
# each call keeps its place, so that the tests of faults tell one from another.
$(eval $(call test_build,plain,-O1 -g1))
$(eval $(call test_build,sanitized,-O1 -g1 $$(SANITIZE)))
$(eval $(call test_build,coverage,-UBLOOM_ASSERTS --coverage -fprofile-update=atomic -O0))
# Calls cost_test in each basic block of ext/.
$(eval $(call test_build,counted,-UBLOOM_ASSERTS -fsanitize-coverage=trace-pc))
# Programs that run as they are, without sanitizers and with them.
TEST_PROGRAMS = $(patsubst tests/library/%.c,%,$(wildcard tests/library/*_test.c)) \
    $(addsuffix _test,pins message callbacks host passes)

# The world allocates and frees all the time: with a larger cache of malloc it takes a tenth less.
WORLD = GLIBC_TUNABLES=glibc.malloc.tcache_count=60000:glibc.malloc.trim_threshold=1000000000 \
    $(PLAIN)/tests/world

# Python's own blocks are not freed when it ends.
UNDER_SANITIZERS = \
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:detect_odr_violation=0 \
    LD_PRELOAD=$$(ldd $(SANITIZED)/$(LIBRARY) | awk "/libasan/ {print \$$3}")
# $(call limited_programs,LIMITS,NAME,BUILD): what runs with other limits, in make test, too;
# $(call limited_suites,LIMITS,NAME,BUILD,BEFORE): the rest, in make long alone.
limited_programs = $(foreach program,fuse interface key_set list url, \
        '$(program)_test with $(2) limits=BLOOM_LIMITS=$(1) $(3)/tests/$(program)_test')
limited_suites = \
    'scripts with $(2) limits=[$(3)/$(LIBRARY)] $(4) BLOOM_LIMITS=$(1) CACHE_SIZE=2 \
        $(PYTHON) tests/runner/sqllogictest.py --load $(3)/$(LIBRARY) tests/sql' \
    'filter tables with $(2) limits=[$(3)/$(LIBRARY)] $(4) BLOOM_LIMITS=$(1) CACHE_SIZE=2 \
        EXTENSION=$(3)/$(LIBRARY) $(PYTHON) tests/tables/table_test.py' \
    'plans with $(2) limits=[$(3)/$(LIBRARY)] $(4) BLOOM_LIMITS=$(1) CACHE_SIZE=2 SEED=5 \
        EXTENSION=$(3)/$(LIBRARY) $(PYTHON) tests/random/plans_test.py' \
    'world with $(2) limits=BLOOM_LIMITS=$(1) CACHE_SIZE=2 RARE=1 SORTS=plain \
        KINDS="memory memdb wal" $(3)/tests/world' \
    'random world with $(2) limits=BLOOM_LIMITS=$(1) SEED=500 ROUNDS=500 $(3)/tests/world random'

# A suite is NAME=COMMAND; run.py builds what they need and runs them side by side. The closer
# a suite is to the cause of a failure, the earlier it runs: unit tests, scripts, what is held
# against an oracle, pages, faults, filter tables in every world.
NEWEST_PYTHON = PYTHON=$(PYTHON) sh tests/runner/newest.sh
NEWEST = $(NEWEST_PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY)
TEST_SUITES = \
    $(foreach program,$(TEST_PROGRAMS),'$(program)=$(PLAIN)/tests/$(program)') \
    'scripts=$(PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY) tests/sql' \
    $(call limited_programs,smallest,small,$(PLAIN)) \
    'build=[all] $(PYTHON) tests/build/build_test.py' \
    'URLs by their page=$(PYTHON) tests/documentation/urls_test.py Page' \
    'filter tables=$(PYTHON) tests/tables/table_test.py' \
    'filter tables under changesets=$(NEWEST_PYTHON) tests/tables/table_test.py Amid Changesets' \
    'planner=$(PYTHON) tests/tables/planner_test.py' \
    'planner of the newest SQLite=$(NEWEST_PYTHON) tests/tables/planner_test.py' \
    'plans=$(PYTHON) tests/random/plans_test.py' \
    'formats by their pages=$(PYTHON) tests/documentation/format_test.py' \
    'tables of fields=$(PYTHON) tests/random/fields_test.py' \
    'plain URLs=[all $(PLAIN)/$(LIBRARY)] BLOOM_LIMITS=url_plain=0 \
        $(PYTHON) tests/random/plain_test.py $(abspath $(PLAIN)/$(LIBRARY))' \
    'foreign formats=$(PYTHON) tests/exchange/foreign_test.py' \
    'text in messages=$(PYTHON) tests/random/quote_test.py' \
    'recipes=$(PYTHON) tests/documentation/recipes_test.py Recipes Demo' \
    'own visits=$(PYTHON) tests/documentation/visits_test.py Own' \
    'documentation=$(PYTHON) tests/documentation/documentation_test.py' \
    'scripts that ask for a newer SQLite=$(NEWEST) $(shell grep -l '>=3\.4[4-9]' tests/sql/*.test)' \
    'world=RARE=1 SORTS=plain KINDS="memory memdb wal shared" $(WORLD)' \
    'world, other kinds=RARE=0 SORTS=plain KINDS="journal deserialized temp attached utf16" \
        $(WORLD)' \
    'world, other sorts=RARE=0 SORTS="counting aged salted" KINDS="memory memdb wal" \
        $(WORLD)' \
    'world, renamed=RARE=0 SORTS=plain STARTS="renamed undone" KINDS="memory wal deserialized" \
        $(WORLD)' \
    'world with faults=FAULTS=16 STATEMENTS=1 SORTS=plain STARTS=waiting KINDS=wal \
        $(WORLD)' \
    'random world=SEED=500 ROUNDS=500 $(WORLD) random' \
    'faults by place=PLACES=1 $(PLAIN)/tests/faults_test' \
    'sources=$(PYTHON) tests/build/sources_test.py' \
    'script runner=$(PYTHON) tests/runner/sqllogictest_test.py' \
    'runner of suites=$(PYTHON) tests/runner/run_test.py'

# What takes longer: see the files; what is not installed is skipped and says so. Minutes each take
# those at the top. Under sanitizers the programs of make test run once more.
SANITIZED_SUITES = \
    $(foreach program,$(TEST_PROGRAMS), \
        '$(program) under sanitizers=$(SANITIZED)/tests/$(program)') \
    'faults by place under sanitizers=PLACES=1 $(SANITIZED)/tests/faults_test' \
    $(call limited_programs,smallest,small sanitized,$(SANITIZED)) \
    $(call limited_suites,smallest,small sanitized,$(SANITIZED),$(UNDER_SANITIZERS))
# These are for mutants, too. The first ones are in make long in a larger form.
MUTANT_SUITES = $(call limited_suites,smallest,small,$(PLAIN)) \
    'URLs and their parsers=$(PYTHON) tests/documentation/urls_test.py Parsers' \
    $(LONGER_SUITES)
LONGER_SUITES = \
    'rates of filter tables=$(PYTHON) tests/tables/rates_test.py' \
    'world, other starts=RARE=1 SORTS="plain salted" STARTS="begun open read two twins" \
        KINDS=memory $(WORLD)'
LONG_SUITES = $(LONGER_SUITES) \
    'tables and values of real sizes=$(PYTHON) tests/tables/sizes_test.py' \
    'platforms=$(PYTHON) tests/hosts/platforms_test.py Platforms' \
    'scripts under sanitizers=[$(SANITIZED)/$(LIBRARY)] $(UNDER_SANITIZERS) \
        $(PYTHON) tests/runner/sqllogictest.py --load $(SANITIZED)/$(LIBRARY) tests/sql' \
    $(call limited_programs,odd,odd,$(SANITIZED)) \
    $(call limited_suites,odd,odd,$(SANITIZED),$(UNDER_SANITIZERS)) \
    $(SANITIZED_SUITES) \
    'fuzzing, five seconds each=SECONDS_EACH=5 sh tests/fuzz/run.sh' \
    'faults on the oldest SQLite=[$(SANITIZED)/$(LIBRARY)] PLACES=1 SORTS=plain \
        $(PYTHON) tests/hosts/releases_test.py Oldest' \
    'faults on the newest SQLite=[$(SANITIZED)/$(LIBRARY)] PLACES=1 SORTS=plain \
        $(PYTHON) tests/hosts/releases_test.py Newest' \
    'lists and resolvers=$(PYTHON) tests/exchange/lists_test.py' \
    'lists and engines that block=$(PYTHON) tests/exchange/engines_test.py' \
    'oldest SQLite=$(PYTHON) tests/hosts/releases_test.py Scripts' \
    'the class Filter of Node.js=[all] if command -v node >/dev/null; \
        then node tests/packages/npm_filter.cjs; \
        else echo "skipped: node is not installed"; echo "0 passed, 0 failed, 1 skipped"; fi' \
    'world under sanitizers=STATEMENTS=1 KINDS="journal memdb" $(SANITIZED)/tests/world' \
    'threads=sh tests/threads/run.sh' \
    'scripts on the newest SQLite=$(NEWEST) tests/sql' \
    'scripts on the SQLite of Ubuntu 24.04=APSW=3.45.1.0 $(NEWEST) tests/sql' \
    'plans, more=SEED=2 QUERIES=10000 $(PYTHON) tests/random/plans_test.py' \
    'plans on the newest SQLite=SEED=3 QUERIES=10000 $(NEWEST_PYTHON) tests/random/plans_test.py' \
    'world with faults everywhere=FAULTS=16 STATEMENTS=1 STARTS="made waiting" \
        SORTS="plain aged" KINDS="journal wal attached" $(WORLD)' \
    'random world, more=SEED=10000 ROUNDS=8000 $(WORLD) random' \
    'random world under sanitizers, more=SEED=40000 ROUNDS=2000 \
        $(SANITIZED)/tests/world random' \
    'costs=$(BUILD)/counted/tests/cost_test' \
    'URLs and their parsers, more=COUNT=15000 $(PYTHON) tests/documentation/urls_test.py' \
    'slow recipes=$(PYTHON) tests/documentation/recipes_test.py SlowRecipes' \
    'visits of real browsers=$(PYTHON) tests/documentation/visits_test.py Browsers' \
    'programs of the recipes=$(PYTHON) tests/exchange/programs_test.py' \
    'options of SQLite=$(PYTHON) tests/hosts/platforms_test.py Options'

# What goes through every case: make check runs it, CI does not.
EXHAUSTIVE_SUITES = \
    'world with faults in all sorts=FAULTS=16 STATEMENTS=1 STARTS="made waiting" \
        $(WORLD)' \
    'faults=$(SANITIZED)/tests/faults_test' \
    'world of three statements, all=STATEMENTS=3 $(WORLD)' \
    'world of four statements=STATEMENTS=4 RARE=0 $(WORLD)' \
    'world of five statements=STATEMENTS=5 RARE=0 SORTS=plain KINDS="memory memdb" \
        $(WORLD)' \
    'costs on the oldest SQLite=[$(BUILD)/counted/$(LIBRARY)] PROGRAMS=cost_test \
        $(PYTHON) tests/hosts/releases_test.py Oldest' \
    'costs on the newest SQLite=[$(BUILD)/counted/$(LIBRARY)] PROGRAMS=cost_test \
        $(PYTHON) tests/hosts/releases_test.py Newest' \
    'random world, most=SEED=100000 ROUNDS=100000 $(WORLD) random' \
    'sizing table=$(PYTHON) ext/filter/layouts/blocked_sizes.py | \
        cmp - ext/filter/layouts/blocked_sizes.h && echo 1 passed, 0 failed' \
    'rates of filter tables, more=KEYS=100000 $(PYTHON) tests/tables/rates_test.py' \
    'fuzzing=sh tests/fuzz/run.sh' \
    '40,000 plans=SEED=4 QUERIES=40000 $(PYTHON) tests/random/plans_test.py' \
    '300,000 spellings of URLs=SEED=2 COUNT=300000 $(PYTHON) tests/documentation/urls_test.py'

RUN = $(PYTHON) tests/runner/run.py --build $(LIBRARY)
test:
	@command -v $(PYTHON) >/dev/null || \
	    { echo 'make test needs python3: apt-get install python3' >&2; exit 1; }
	@+MAKE='$(MAKE)' $(RUN) $(TEST_SUITES)

fetch:
	@PYTHON=$(PYTHON) sh tests/fetch.sh

# The tests and what takes longer. CI runs test and long.
check: test long exhaustive

long exhaustive:
	@+MAKE='$(MAKE)' $(RUN) $(if $(filter long,$@),$(LONG_SUITES),$(EXHAUSTIVE_SUITES))

# Which lines and branches of ext/ the tests reach. It fails when they are too few.
coverage:
	@PYTHON=$(PYTHON) sh tests/coverage/run.sh

# Changes one place of ext/ after the other and says which change no test sees: make mutants N=200
# SEED=1 WORD=filter. What runs under sanitizers with small limits, only those that change a limit.
mutants:
	@$(PYTHON) tests/mutants/run.py $(TEST_SUITES) $(MUTANT_SUITES) $(SANITIZED_SUITES)

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

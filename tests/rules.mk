# How the tests are built and run; included by the Makefile. tests/README.md says what is where.
#
#: make test           what must pass, within two minutes on two cores; ONLY=WORD: what is named so
#: make check          the same and what takes longer
#: make long           what takes longer
#: make coverage       which lines and branches of ext/ the tests reach
#: make bench          measures and draws, into tests/bench/results
#: make clusters       filters in replicated SQLite, three nodes each
#: make newcomer       README typed in a bare Debian and Ubuntu; root and debootstrap
#
# They need cmocka, and libmurmurhash as a second opinion on the hash (Debian: libcmocka-dev,
# libmurmurhash-dev).
export ONLY

# Unit tests of the filter library. What measures rates for long goes to `make long`.
LIBRARY_TESTS = $(patsubst tests/library/%.c,$(BUILD)/tests/%,$(wildcard tests/library/*_test.c))
LONG_LIBRARY_TESTS = $(BUILD)/tests/rate_test

# With sanitizers where the compiler has them; it is asked once, when the first test is built.
# rate_test measures for so long that it goes without.
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE = $(eval SANITIZE := $$(shell echo 'int main(void) { return 0; }' | \
    $(CC) $(SANITIZERS) -x c -o /dev/null - 2>/dev/null && \
    echo '$(SANITIZERS) -fno-omit-frame-pointer'))$(SANITIZE)
$(eval $(call objects,sanitized,$$(SANITIZE)))
LIBRARY_OBJECTS = $(call objects_of,sanitized,$(LIBRARY_SOURCES))
LIBRARY_FLAGS = $(SANITIZE)
$(BUILD)/tests/rate_test: LIBRARY_OBJECTS = $(call objects_of,loadable,$(LIBRARY_SOURCES))
$(BUILD)/tests/rate_test: LIBRARY_FLAGS =
$(BUILD)/tests/rate_test: $(call objects_of,loadable,$(LIBRARY_SOURCES))
$(BUILD)/tests/hash_test: LIBRARY_TEST_LIBRARIES = -lmurmurhash

$(LIBRARY_TESTS): $(BUILD)/tests/%: tests/library/%.c $(wildcard tests/library/*.h) tests/rules.mk \
    $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(COMPILE) $(LIBRARY_FLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY_OBJECTS) -lcmocka \
	    $(LIBRARY_TEST_LIBRARIES) -lm

# SQLite and the extension in one program, so that the program may replace SQLite's allocator and
# file system. interrupt_test, which measures, does without the sanitizers.
#
#     make SQLITE=folder BUILD=build/other build/other/tests/stranger_test
#
# takes the SQLite whose amalgamation (sqlite3.c, sqlite3.h) is in a folder, instead of the
# system's; with LINKED_SANITIZERS= all is compiled for speed. Each needs a BUILD of its own.
LINKED_TESTS = $(patsubst tests/faults/%.c,$(BUILD)/tests/%,$(wildcard tests/faults/*_test.c)) \
    $(BUILD)/tests/random_test $(BUILD)/tests/oracle_test $(BUILD)/tests/cost_test
LINKED_SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(eval $(call objects,linked,-DSQLITE_CORE $$(LINKED_SANITIZERS)))
$(eval $(call objects,linked_fast,-DSQLITE_CORE))
LINKED_OBJECTS = $(call objects_of,linked,$(SOURCES))
LINKED_FLAGS = $(LINKED_SANITIZERS)
$(BUILD)/tests/interrupt_test: LINKED_OBJECTS = $(call objects_of,linked_fast,$(SOURCES))
$(BUILD)/tests/interrupt_test: LINKED_FLAGS =
$(BUILD)/tests/interrupt_test: $(call objects_of,linked_fast,$(SOURCES))
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
	$(CC) $(if $(LINKED_SANITIZERS),-O1 -fsanitize=address,-O2) -g -w \
	    -DSQLITE_ENABLE_DESERIALIZE -DSQLITE_ENABLE_JSON1 -DSQLITE_ENABLE_COLUMN_METADATA \
	    -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK -c -o $@ $<
else
LINKED_SQLITE = -lsqlite3
endif
LINK = $(COMPILE) -D_XOPEN_SOURCE=700 -DSQLITE_CORE $(LINKED_FLAGS)
$(BUILD)/tests/%_test: tests/faults/%_test.c $(wildcard tests/faults/*.h)
	@mkdir -p $(@D)
	$(LINK) -o $@ $< $(LINKED_OBJECTS) -lcmocka $(LINKED_SQLITE) -lpthread -lm
$(BUILD)/tests/random_test: $(wildcard tests/random/*.[ch])
	@mkdir -p $(@D)
	$(LINK) -o $@ $(filter tests/random/%.c,$^) $(LINKED_OBJECTS) $(LINKED_SQLITE) -lpthread -lm
ORACLE_WEIGHTS = $(wildcard tests/tables/oracle/*.steps)
$(BUILD)/tests/oracle_test: $(wildcard tests/tables/oracle/*.[ch])
	@mkdir -p $(@D)
	$(LINK) -o $@ $(filter tests/tables/oracle/%.c,$^) $(LINKED_OBJECTS) $(LINKED_SQLITE) \
	    -lpthread -lm

$(BUILD)/tests/cost_test: tests/tables/cost_test.c
	@mkdir -p $(@D)
	$(LINK) -o $@ $< $(LINKED_OBJECTS) -lcmocka $(LINKED_SQLITE) -lpthread -lm

# A suite is NAME=COMMAND; run.py runs them side by side, those named NAME! alone.
unit_suites = $(foreach program,$(1),'$(notdir $(program))=$(program)')
TEST_SUITES = $(filter-out $(LONG_LIBRARY_TESTS),$(LIBRARY_TESTS))

test: $(LIBRARY) $(TEST_SUITES)
	@$(PYTHON) tests/runner/run.py \
	    $(call unit_suites,$(TEST_SUITES)) \
	    'sources=$(PYTHON) tests/build/sources_test.py' \
	    'script runner=$(PYTHON) tests/runner/sqllogictest_test.py' \
	    'scripts=$(PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY) tests/sql' \
	    'filter tables=$(PYTHON) tests/tables/table_test.py' \
	    'generations=$(PYTHON) tests/tables/generations_test.py' \
	    'planner=$(PYTHON) tests/tables/planner_test.py' \
	    'plans=$(PYTHON) tests/random/plans_test.py Here' \
	    'crashes=ROUNDS=20 $(PYTHON) tests/tables/crash_test.py' \
	    'exchange=$(PYTHON) tests/exchange/exchange_test.py' \
	    'foreign formats=$(PYTHON) tests/exchange/foreign_test.py' \
	    'exchange with Java=$(PYTHON) tests/exchange/guava_test.py' \
	    'recipes=$(PYTHON) tests/documentation/recipes_test.py' \
	    'documentation=$(PYTHON) tests/documentation/documentation_test.py' \
	    'blocks of pages=$(PYTHON) tests/documentation/blocks_test.py' \
	    'mistakes=$(PYTHON) tests/documentation/mistakes_test.py' \
	    'formats by their pages=$(PYTHON) tests/documentation/format_test.py' \
	    'URLs and their parsers=$(PYTHON) tests/documentation/urls_test.py' \
	    'build=$(PYTHON) tests/build/build_test.py'

# The tests and what takes longer.
check: test long

# What takes longer: see the files; what is not installed is skipped and says so.
long: $(LIBRARY) $(LINKED_TESTS) $(LONG_LIBRARY_TESTS)
	@$(PYTHON) tests/runner/run.py \
	    $(call unit_suites,$(LONG_LIBRARY_TESTS)) \
	    'sizing table=$(PYTHON) tests/library/sizing_table_test.py' \
	    'the program around it=$(BUILD)/tests/host_test' \
	    'pins=$(BUILD)/tests/pins_test' \
	    'messages=$(BUILD)/tests/message_test' \
	    'chosen keys=$(BUILD)/tests/attack_test' \
	    'memory failures=$(BUILD)/tests/memory_test' \
	    'refusals=$(BUILD)/tests/refusal_test' \
	    'I/O failures=$(BUILD)/tests/io_test' \
	    'damaged bytes=$(BUILD)/tests/damage_test' \
	    'damaged bytes under valgrind=sh tests/faults/valgrind.sh' \
	    'interrupts!=$(BUILD)/tests/interrupt_test' \
	    'threads=sh tests/threads/run.sh' \
	    'random operations=$(BUILD)/tests/random_test' \
	    'plans, more=SEED=2 QUERIES=40000 $(PYTHON) tests/random/plans_test.py' \
	    'the state of a table=$(BUILD)/tests/state_test' \
	    'capacity and counts=$(BUILD)/tests/capacity_test' \
	    'what applications do=$(BUILD)/tests/application_test' \
	    'files from strangers=$(BUILD)/tests/stranger_test' \
	    'oracle of filter tables=STEPS=15000 $(BUILD)/tests/oracle_test' \
	    'oracle, one fault after the other=STEPS=15000 $(BUILD)/tests/oracle_test $(ORACLE_WEIGHTS)' \
	    'costs=$(BUILD)/tests/cost_test' \
    'ratios!=$(PYTHON) tests/bench/ratios_test.py' \
	    'crashes, long run=ROUNDS=300 $(PYTHON) tests/tables/crash_test.py' \
	    'a million spellings of URLs=COUNT=1000000 $(PYTHON) tests/documentation/urls_test.py' \
	    'exchange with libraries=$(PYTHON) tests/exchange/libraries_test.py' \
	    'programs of the recipes=$(PYTHON) tests/exchange/programs_test.py' \
	    'a filter of 1 GB=$(PYTHON) tests/exchange/large_test.py' \
	    'platforms=$(PYTHON) tests/hosts/platforms_test.py' \
	    'options of SQLite=$(PYTHON) tests/hosts/options_test.py' \
	    'oldest SQLite=$(PYTHON) tests/hosts/oldest_test.py' \
	    'faults on the oldest SQLite=$(PYTHON) tests/hosts/releases_test.py Oldest' \
	    'faults on the newest SQLite=$(PYTHON) tests/hosts/releases_test.py Newest' \
	    'fuzzing=sh tests/fuzz/run.sh'

# Which lines and branches of ext/ the tests reach, and whether what they do not reach is known and
# explained.
coverage:
	@PYTHON=$(PYTHON) sh tests/coverage/run.sh

# Measures and draws, into tests/bench/results; tests/bench/run.sh says what is needed for more than
# the default.
bench: $(LIBRARY)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" LIBRARY=$(LIBRARY) OBJECTS="$(OBJECTS)" sh tests/bench/run.sh

.PHONY: test check long coverage bench

# Filters in replicated SQLite, each engine as a cluster of three processes on loopback; what is not
# installed is skipped and says so. The figures of the last run: tests/clusters/README.md.
clusters: $(LIBRARY)
	@JOBS=1 $(PYTHON) tests/runner/run.py \
	    'last writer wins=$(PYTHON) tests/clusters/last_writer_test.py' \
	    'libSQL=$(PYTHON) tests/clusters/clusters_test.py libSQL' \
	    'dqlite=$(PYTHON) tests/clusters/clusters_test.py dqlite' \
	    'rqlite=$(PYTHON) tests/clusters/clusters_test.py rqlite' \
	    'built by Spark=$(PYTHON) tests/clusters/spark_test.py'

.PHONY: clusters

# README, as somebody types it who has nothing; ROOTS=FOLDER keeps the bare systems.
newcomer:
	@$(PYTHON) tests/documentation/newcomer_test.py

.PHONY: newcomer

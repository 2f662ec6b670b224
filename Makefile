# Build, run and test the bloom extension. Everything a person needs: make, make demo, make test, make install.

CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INSTALL ?= install
# The system's Python, which sees the modules of the system's packages; another one in front of it may not.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

ifeq ($(shell uname -s),Darwin)
LIBRARY = bloom.dylib
SHARED = -dynamiclib
else
LIBRARY = bloom.so
SHARED = -shared
endif

BUILD = build
SOURCES = $(wildcard ext/*.c ext/*/*.c)
HEADERS = $(wildcard ext/*.h ext/*/*.h)
OBJECTS = $(SOURCES:ext/%.c=$(BUILD)/%.o)
# What the project needs in any case, whatever CFLAGS a user gives; -ffp-contract=off: no machine rounds otherwise.
COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) -std=c11 -Iext -ffp-contract=off

all: $(LIBRARY)

$(LIBRARY): $(OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(SHARED) -o $@ $(OBJECTS) -lm

$(BUILD)/%.o: ext/%.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -fPIC -fvisibility=hidden -c -o $@ $<

install: $(LIBRARY)
	$(INSTALL) -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PREFIX)/include
	$(INSTALL) -m 755 $(LIBRARY) $(DESTDIR)$(LIBDIR)/$(LIBRARY)
	$(INSTALL) -m 644 ext/sqlite-bloom.h $(DESTDIR)$(PREFIX)/include/sqlite-bloom.h

# make demo, or make demo URLS=path for another list, one URL a line; SQLITE3=path names another sqlite3 shell.
# Both reach the script through the environment, so that a path may hold any character.
demo: $(LIBRARY)
	@sh sql/demo.sh

-include tests/library/rules.mk

test: $(LIBRARY) $(LIBRARY_TESTS)
	@$(PYTHON) tests/runner/run.py \
	    $(foreach program,$(LIBRARY_TESTS),'$(notdir $(program))=$(program)') \
	    'sizing table=$(PYTHON) tests/library/sizing_table_test.py' \
	    'script runner=$(PYTHON) tests/runner/sqllogictest_test.py' \
	    'scripts=$(PYTHON) tests/runner/sqllogictest.py --load ./$(LIBRARY) tests/sql' \
	    'filter tables=$(PYTHON) tests/tables/table_test.py' \
	    'crashes=$(PYTHON) tests/tables/crash_test.py' \
	    'exchange=$(PYTHON) tests/exchange/exchange_test.py' \
	    'exchange with Java=$(PYTHON) tests/exchange/guava_test.py' \
	    'recipes=$(PYTHON) tests/documentation/recipes_test.py' \
	    'documentation=$(PYTHON) tests/documentation/documentation_test.py' \
	    'build=$(PYTHON) tests/build/build_test.py'

# The tests and what takes longer, about ten minutes in all.
check: test long

# SQLite and the extension in one program, so that the program may replace SQLite's allocator and file system.
LINKED_TESTS = $(patsubst tests/faults/%.c,$(BUILD)/tests/%,$(wildcard tests/faults/*_test.c)) $(BUILD)/tests/random_test
# interrupt_test, which measures, does without the sanitizers.
LINKED_SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(BUILD)/tests/interrupt_test: LINKED_SANITIZERS =
LINKED = $(COMPILE) -D_XOPEN_SOURCE=700 -DSQLITE_CORE $(LINKED_SANITIZERS)
$(LINKED_TESTS): $(SOURCES) $(HEADERS)
$(BUILD)/tests/%_test: tests/faults/%_test.c $(wildcard tests/faults/*.h)
	@mkdir -p $(@D)
	$(LINKED) -o $@ $< $(SOURCES) -lcmocka -lsqlite3 -lpthread -lm
$(BUILD)/tests/random_test: $(wildcard tests/random/*.[ch])
	@mkdir -p $(@D)
	$(LINKED) -o $@ $(filter tests/random/%.c,$^) $(SOURCES) -lsqlite3 -lm

# What takes longer: see the files; what is not installed is skipped and says so.
long: $(LIBRARY) $(LINKED_TESTS)
	@$(PYTHON) tests/runner/run.py \
	    'the program around it=$(BUILD)/tests/host_test' \
	    'memory failures=$(BUILD)/tests/memory_test' \
	    'refusals=$(BUILD)/tests/refusal_test' \
	    'I/O failures=$(BUILD)/tests/io_test' \
	    'damaged bytes=$(BUILD)/tests/damage_test' \
	    'damaged bytes under valgrind=sh tests/faults/valgrind.sh' \
	    'interrupts=$(BUILD)/tests/interrupt_test' \
	    'threads=sh tests/threads/run.sh' \
	    'random operations=$(BUILD)/tests/random_test' \
	    'crashes, long run=ROUNDS=300 $(PYTHON) tests/tables/crash_test.py' \
	    'platforms=$(PYTHON) tests/hosts/platforms_test.py' \
	    'oldest SQLite=$(PYTHON) tests/hosts/oldest_test.py' \
	    'fuzzing=sh tests/fuzz/run.sh'

# Which lines and branches of ext/ the tests reach, and whether what they do not reach is known and explained.
coverage:
	@PYTHON=$(PYTHON) sh tests/coverage/run.sh

# Measures and draws, into tests/bench/results; tests/bench/run.sh says what is needed for more than the default.
bench: $(LIBRARY)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" LIBRARY=$(LIBRARY) OBJECTS="$(OBJECTS)" sh tests/bench/run.sh

clean:
	rm -rf $(BUILD) bloom.so bloom.dylib

.PHONY: all install demo test check long coverage bench clean

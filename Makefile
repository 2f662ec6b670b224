# Build, run and test the bloom extension. It needs GNU make (gmake on BSD). The lines that begin
# with #: are what make help prints, here and in the files that are included below.
#
#: To use it:
#: make                builds the library, and libsqlite-bloom-filter.a for C; V=1 prints commands
#: make demo           which of a million visits went to a malicious URL?
#: make demo URLS=hosts.txt VISITS=path     your list and your visits, for example a browser's
#: make install        libraries and headers, under PREFIX (/usr/local); LIBDIR, DESTDIR, STRIP=
#: make uninstall      removes them
#: make clean          removes everything that was built
#: make help           this list
#:
#: To change it:
#: make format         runs clang-format on the C files, except generated tables

# GNU make passes over this, other makes stop at it.
ifeq (0,1)
.error This Makefile needs GNU make: gmake
endif

CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INSTALL ?= install
# The system's Python, which sees the modules of the system's packages; another in front may not.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

ifeq ($(shell uname -s),Darwin)
LIBRARY = bloom.dylib
SHARED = -dynamiclib
else
LIBRARY = bloom.so
SHARED = -shared
endif

BUILD = build
# The folders of ext/, from the lowest: a file includes nothing of a folder above its own. The first
# eight know no SQLite.
LIBRARY_FOLDERS = base hash url list filter filter/layouts/kernels filter/layouts foreign
FOLDERS = $(LIBRARY_FOLDERS) sqlite sqlite/rows table
SOURCES = $(foreach folder,$(FOLDERS),$(wildcard ext/$(folder)/*.c)) ext/extension.c
HEADERS = $(wildcard ext/*.h) $(foreach folder,$(FOLDERS),$(wildcard ext/$(folder)/*.h))
# The filter library for C programs: the folders without SQLite, and the functions that
# sqlite-bloom-filter.h declares.
LIBRARY_SOURCES = $(foreach folder,$(LIBRARY_FOLDERS),$(wildcard ext/$(folder)/*.c)) \
    ext/sqlite-bloom-filter.c

# What the project needs in any case, whatever CFLAGS a user gives. -ffp-contract=off: no machine
# rounds otherwise.
# The last folder is for machines without SQLite's headers.
COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) -std=c11 -Iext -ffp-contract=off \
    -idirafter ext/packages/sqlite

FILTER_LIBRARY = libsqlite-bloom-filter.a
# $(call say,CC,$@): what a rule prints instead of its command, unless V=1 asks for that.
say = $(if $(V),,@printf '%-4s %s\n' $(1) $(2);)

all: $(LIBRARY) $(FILTER_LIBRARY)
	@echo 'Built $(LIBRARY). Next: make demo, make test, or .load ./bloom in the sqlite3 shell'

# One rule for the objects of every build: $(call objects,NAME,FLAGS) tells how build/NAME/*.o are
# made, $(call objects_of,NAME,SOURCES) names them. The compiler writes beside each what headers it
# includes.
define objects
$(BUILD)/$(1)/%.o: ext/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)$$(COMPILE) $(2) -MMD -MP -c -o $$@ $$<
endef
objects_of = $(patsubst ext/%.c,$(BUILD)/$(1)/%.o,$(2))
-include $(wildcard $(foreach folder,$(sort build $(BUILD)),\
    $(addprefix $(folder)/*/,*.d */*.d */*/*.d */*/*/*.d)))

$(eval $(call objects,loadable,-fPIC -fvisibility=hidden))
OBJECTS = $(call objects_of,loadable,$(SOURCES))

# make -s V=1 objects: makes the objects of the library and prints their names. With VARIANT=name
# VARIANT_FLAGS=flags, those of a build that a script needs.
ifdef VARIANT
$(eval $(call objects,$(VARIANT),$(VARIANT_FLAGS)))
objects: $(call objects_of,$(VARIANT),$(sort $(SOURCES) $(LIBRARY_SOURCES)))
else
objects: $(OBJECTS)
endif
	@printf '%s\n' $^

$(LIBRARY): $(OBJECTS)
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) $(SHARED) -o $@ $(OBJECTS) -lm

# One object, in which everything but the functions of the header is local. They stay hidden, so
# that a shared library that has it in it does not export them. Link-time optimisation would put off
# what makes names local: where it is asked for, the objects are compiled once more without.
$(eval $(call objects,static,-fPIC -fvisibility=hidden -fno-lto))
STATIC_VARIANT = $(if $(findstring -flto,$(COMPILE)),static,loadable)
STATIC_OBJECTS = $(call objects_of,$(STATIC_VARIANT),$(LIBRARY_SOURCES))
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)

$(FILTER_LIBRARY): $(STATIC_OBJECTS)
ifeq ($(shell uname -s),Darwin)
	$(call say,LINK,$@)$(CC) -r -nostdlib -Wl,-exported_symbol,'_sqlite_bloom_*' \
	    -o $(BUILD)/sqlite-bloom-filter.o $(STATIC_OBJECTS)
else
	$(call say,LINK,$@)$(CC) -r -nostdlib -o $(BUILD)/sqlite-bloom-filter.o $(STATIC_OBJECTS)
	$(if $(V),,@)$(OBJCOPY) --wildcard --keep-global-symbol='sqlite_bloom_*' \
	    $(BUILD)/sqlite-bloom-filter.o
endif
	@rm -f $@
	$(if $(V),,@)$(AR) rcs $@ $(BUILD)/sqlite-bloom-filter.o

# What pkg-config and CMake read, from templates. An installation can be moved as a whole, because
# they find it by their own place, and PREFIX by the way up from LIBDIR.
PKGCONFIG = $(LIBDIR)/pkgconfig
CMAKE_PACKAGE = $(LIBDIR)/cmake/sqlite-bloom
PKGCONFIG_FILES = sqlite-bloom.pc sqlite-bloom-filter.pc
CMAKE_FILES = sqlite-bloom-config.cmake sqlite-bloom-config-version.cmake
PUBLIC_HEADERS = sqlite-bloom.h sqlite-bloom-filter.h
VERSION = $(shell sed -n 's/^.define SQLITE_BLOOM_VERSION "\(.*\)"/\1/p' ext/sqlite-bloom.h)

# $(call fill,FOLDER,FILES): makes files of their templates.
define fill
	libdir="$(LIBDIR)"; below="$${libdir#"$(PREFIX)"/}"; to=; \
	[ "$$below" != "$$libdir" ] || { below="$${libdir#/}"; to="$(PREFIX)"; }; \
	up="$$(printf %s "$$below" | sed 's|[^/][^/]*|..|g')$$to"; \
	for file in $(2); do \
	    sed -e "s|@UP@|$$up|" -e "s|@LIBRARY@|$(LIBRARY)|" -e "s|@VERSION@|$(VERSION)|" \
	        "ext/packages/$$file.in" >"$(DESTDIR)$(1)/$$file" && \
	    chmod 644 "$(DESTDIR)$(1)/$$file" || exit 1; \
	done
endef

# What is installed has no symbols for a debugger. STRIP= keeps them, and so does nostrip
# in DEB_BUILD_OPTIONS of Debian.
STRIP ?= $(if $(filter nostrip,$(DEB_BUILD_OPTIONS)),,strip)

install: $(LIBRARY) $(FILTER_LIBRARY)
	@echo 'Built $(LIBRARY). Next: make demo, make test, or .load ./bloom in the sqlite3 shell'
	$(INSTALL) -d "$(DESTDIR)$(LIBDIR)" "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PKGCONFIG)" \
	    "$(DESTDIR)$(CMAKE_PACKAGE)"
	$(INSTALL) -m 755 $(LIBRARY) "$(DESTDIR)$(LIBDIR)/$(LIBRARY)"
	$(INSTALL) -m 644 $(FILTER_LIBRARY) "$(DESTDIR)$(LIBDIR)/$(FILTER_LIBRARY)"
	$(if $(STRIP),$(STRIP) -S -x "$(DESTDIR)$(LIBDIR)/$(LIBRARY)" \
	    "$(DESTDIR)$(LIBDIR)/$(FILTER_LIBRARY)")
	for header in $(PUBLIC_HEADERS); do \
	    $(INSTALL) -m 644 "ext/$$header" "$(DESTDIR)$(PREFIX)/include/$$header" || exit 1; \
	done
	$(call fill,$(PKGCONFIG),$(PKGCONFIG_FILES))
	$(call fill,$(CMAKE_PACKAGE),$(CMAKE_FILES))

uninstall:
	rm -f "$(DESTDIR)$(LIBDIR)/$(LIBRARY)" "$(DESTDIR)$(LIBDIR)/$(FILTER_LIBRARY)"
	for header in $(PUBLIC_HEADERS); do rm -f "$(DESTDIR)$(PREFIX)/include/$$header"; done
	for file in $(PKGCONFIG_FILES); do rm -f "$(DESTDIR)$(PKGCONFIG)/$$file"; done
	rm -rf "$(DESTDIR)$(CMAKE_PACKAGE)"

# URLS, VISITS and SQLITE3 reach the script through the environment, so that a path may hold any
# character. Under another name they would not, and the demo would be that of the list of ours.
demo: $(LIBRARY)
	$(foreach name,url urls visit visits sqlite3 URL VISIT,$(if \
	    $(filter command,$(origin $(name))),$(error demo: there is no $(name)=. Write URLS=, \
	    VISITS= or SQLITE3=, for example make demo URLS=hosts.txt VISITS=History)))
	@sh sql/demo.sh

help:
	@sed -n -e 's/^#: //p' -e 's/^#:$$//p' $(MAKEFILE_LIST)

# Tables are generated, and stay as their programs write them.
format:
	git ls-files '*.c' '*.h' | grep -v -e _tables.h -e _sizes.h | xargs clang-format -i

clean:
	rm -rf $(BUILD) bloom.so bloom.dylib $(FILTER_LIBRARY) ext/packages/npm/bloom.* \
	    ext/packages/npm/filter.node

.PHONY: all objects install uninstall demo help format clean

# make test, check, long, coverage, bench; make packages, hosts. A copy of the sources alone has
# neither.
include $(wildcard tests/rules.mk ext/packages/rules.mk)

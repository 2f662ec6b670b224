# Unit tests of the filter library, the floor that knows no SQLite; included by the Makefile. They need cmocka, and
# libmurmurhash as a second opinion on the hash (Debian: libcmocka-dev, libmurmurhash-dev).

LIBRARY_TESTS = $(patsubst tests/library/%.c,$(BUILD)/tests/%,$(wildcard tests/library/*_test.c))
FLOOR = $(wildcard ext/filter/*.c ext/exchange/*.c)

# With sanitizers where the compiler has them; it is asked once, when the first test is built. rate_test measures for so
# long that it goes without.
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE = $(eval SANITIZE := $$(shell echo 'int main(void) { return 0; }' | \
    $(CC) $(SANITIZERS) -x c -o /dev/null - 2>/dev/null && echo '$(SANITIZERS)'))$(SANITIZE)
$(BUILD)/tests/rate_test: SANITIZE = -O2
$(BUILD)/tests/hash_test: LIBRARY_TEST_LIBRARIES = -lmurmurhash

$(LIBRARY_TESTS): $(BUILD)/tests/%: tests/library/%.c tests/library/library_test.h tests/library/rules.mk $(FLOOR) $(HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) $(SANITIZE) $(LDFLAGS) -o $@ $< $(FLOOR) -lcmocka $(LIBRARY_TEST_LIBRARIES) -lm

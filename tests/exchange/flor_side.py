"""Flor's side of libraries_test.py, which says what the lines are."""
import io
import sys

from flor import BloomFilter

for line in sys.stdin:
    command, _, *words = line.split()
    if command == "make":
        filter = BloomFilter(n=int(words[0]), p=float(words[1]))
        words = words[2:]
    else:
        filter = BloomFilter()
        filter.read(io.BytesIO(bytes.fromhex(words.pop(0)[1:])))
    keys = [bytes.fromhex(word[1:]) for word in words]
    if command == "check":
        print("".join(str(int(filter.check(key))) for key in keys))
        continue
    for key in keys:
        try:
            filter.add(key)
        except BloomFilter.CapacityError:
            pass  # it has added the key all the same
    out = io.BytesIO()
    filter.write(out)
    print("x" + out.getvalue().hex())

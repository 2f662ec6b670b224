"""The side of Spark and of Guava in libraries_test.py, which says what the lines are: a JVM with
the jar of either, driven by JPype.

    java_side.py JAR

A kind is spark, or a funnel of Guava, string, chars, long or bytes, and a strategy, 64 or 32, with
a colon between.
"""
import sys

import jpype
from jpype import JArray, JByte, JClass

jpype.startJVM(classpath=[sys.argv[1]])
Class, Double, Long, String = (
    JClass(f"java.lang.{name}") for name in ("Class", "Double", "Long", "String"))
Input, Output = JClass("java.io.ByteArrayInputStream"), JClass("java.io.ByteArrayOutputStream")
UTF_8 = JClass("java.nio.charset.StandardCharsets").UTF_8


def bytes_of(word):
    return JArray(JByte)(bytes.fromhex(word[1:]))


def text_of(word):
    return String(bytes_of(word), UTF_8)


class Guava:
    NAMES = "com.google.common.hash."

    def __init__(self, kind):
        funnel, _, self.strategy = kind.partition(":")
        funnels = JClass(self.NAMES + "Funnels")
        self.funnel, self.key_of = {
            "string": (lambda: funnels.stringFunnel(UTF_8), text_of),
            "chars": (funnels.unencodedCharsFunnel, text_of),
            "long": (funnels.longFunnel, lambda word: Long(int(word))),
            "bytes": (funnels.byteArrayFunnel, bytes_of)}[funnel]

    def make(self, n, p):
        """With a strategy, which takes a method and a class that are package-private."""
        bloom, funnel, strategy, strategies = (Class.forName(self.NAMES + name) for name in (
            "BloomFilter", "Funnel", "BloomFilter$Strategy", "BloomFilterStrategies"))
        create = bloom.getDeclaredMethod("create", funnel, Long.TYPE, Double.TYPE, strategy)
        create.setAccessible(True)
        chosen, = (one for one in strategies.getEnumConstants()
                   if str(one) == f"MURMUR128_MITZ_{self.strategy}")
        return create.invoke(None, self.funnel(), Long(n), Double(p), chosen)

    def read(self, stream):
        return JClass(self.NAMES + "BloomFilter").readFrom(stream, self.funnel())

    def put(self, one, word):
        one.put(self.key_of(word))

    def check(self, one, word):
        return one.mightContain(self.key_of(word))


class Spark:
    def __init__(self, _):
        self.bloom = JClass("org.apache.spark.util.sketch.BloomFilter")

    def make(self, n, p):
        return self.bloom.create(jpype.JLong(n), jpype.JDouble(p))

    def seeded(self, n, bits, seed):
        return self.bloom.create(jpype.JLong(n), jpype.JLong(bits), jpype.JInt(seed))

    def read(self, stream):
        return self.bloom.readFrom(stream)

    def put(self, one, word, call="put"):
        if word[0] == "x":
            return getattr(one, call + "Binary")(bytes_of(word))
        if word[0] == "s":
            return getattr(one, call + "String")(text_of(word))
        return getattr(one, call + "Long")(jpype.JLong(int(word)))

    def check(self, one, word):
        return self.put(one, word, "mightContain")


def answer(command, kind, *words):
    side = Spark(kind) if kind == "spark" else Guava(kind)
    if command == "seeded":
        one, keys = side.seeded(*map(int, words)), []
    elif command == "make":
        one, keys = side.make(int(words[0]), float(words[1])), words[2:]
    else:
        one, keys = side.read(Input(bytes_of(words[0]))), words[1:]
    if command == "check":
        return "".join(str(int(side.check(one, word))) for word in keys)
    for word in keys:
        side.put(one, word)
    stream = Output()
    one.writeTo(stream)
    return "x" + bytes(stream.toByteArray()).hex()


for line in sys.stdin:
    try:
        print(answer(*line.split()), flush=True)
    except Exception as problem:  # pylint: disable=broad-except; libraries_test.py reports it
        print("error", repr(problem), flush=True)

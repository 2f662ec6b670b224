"""The side of Spark and of Guava in libraries_test.py: their jars in a JVM, which JPype drives.

A kind is spark, or a funnel of Guava, string, chars, long or bytes, and a strategy, 64 or 32, with
a colon between.
"""
import fetched

jpype = fetched.module("jpype", "jpype1==1.7.1")


def java(name):
    return jpype.JClass(f"java.{name}")


def start():
    if not jpype.isJVMStarted():
        try:
            jpype.startJVM()
        except (jpype.JVMNotFoundException, OSError) as problem:
            raise fetched.Missing(f"Java is not installed: {problem}") from problem


def array(data):
    return jpype.JArray(jpype.JByte)(data)


def text(key):
    """As Java decodes UTF-8, also of bytes that are none."""
    data = key.encode() if isinstance(key, str) else key
    return java("lang.String")(array(data), java("nio.charset.StandardCharsets").UTF_8)


class Side:
    def __init__(self, jar):
        start()
        url = java("io.File")(str(jar)).toURI().toURL()
        self.loader = java("net.URLClassLoader")([url])  # so that two releases do not mix

    def type(self, name):
        return jpype.JClass(self.loader.loadClass(f"{self.PACKAGE}.{name}"))

    def ask(self, command, kind, *words, keys=()):
        """As libraries_test.py says."""
        if command in ("make", "seeded"):
            one = getattr(self, command)(kind, *words)
        else:
            one = self.read(kind, java("io.ByteArrayInputStream")(array(words[0])))
        if command == "check":
            return "".join(str(int(self.check(kind, one, key))) for key in keys)
        for key in keys:
            self.put(kind, one, key)
        stream = java("io.ByteArrayOutputStream")()
        one.writeTo(stream)
        return bytes(stream.toByteArray())


class Guava(Side):
    PACKAGE = "com.google.common.hash"

    def funnel(self, kind):
        funnels, name = self.type("Funnels"), kind.partition(":")[0]
        if name == "string":
            return funnels.stringFunnel(java("nio.charset.StandardCharsets").UTF_8)
        return {"chars": funnels.unencodedCharsFunnel, "long": funnels.longFunnel,
                "bytes": funnels.byteArrayFunnel}[name]()

    @staticmethod
    def key(kind, key):
        name = kind.partition(":")[0]
        return (java("lang.Long")(key) if name == "long" else array(key) if name == "bytes"
                else text(key))

    def make(self, kind, n, p):
        """With a strategy, which takes a method and classes that are package-private."""
        types = [self.type(name).class_ for name in ("Funnel", "BloomFilter$Strategy")]
        create = self.type("BloomFilter").class_.getDeclaredMethod(
            "create", types[0], java("lang.Long").TYPE, java("lang.Double").TYPE, types[1])
        create.setAccessible(True)
        strategy, = (one for one in self.type("BloomFilterStrategies").class_.getEnumConstants()
                     if str(one) == f"MURMUR128_MITZ_{kind.partition(':')[2]}")
        return create.invoke(None, self.funnel(kind), java("lang.Long")(n),
                             java("lang.Double")(float(p)), strategy)

    def read(self, kind, stream):
        return self.type("BloomFilter").readFrom(stream, self.funnel(kind))

    def put(self, kind, one, key):
        one.put(self.key(kind, key))

    def check(self, kind, one, key):
        return one.mightContain(self.key(kind, key))


class Spark(Side):
    PACKAGE = "org.apache.spark.util.sketch"

    def make(self, _, n, p):
        return self.type("BloomFilter").create(jpype.JLong(n), jpype.JDouble(float(p)))

    def seeded(self, _, n, bits, seed):
        return self.type("BloomFilter").create(jpype.JLong(n), jpype.JLong(bits), jpype.JInt(seed))

    def read(self, _, stream):
        return self.type("BloomFilter").readFrom(stream)

    def put(self, _, one, key, call="put"):
        if isinstance(key, bytes):
            return getattr(one, f"{call}Binary")(array(key))
        if isinstance(key, str):
            return getattr(one, f"{call}String")(text(key))
        return getattr(one, f"{call}Long")(jpype.JLong(key))

    def check(self, kind, one, key):
        return self.put(kind, one, key, "mightContain")

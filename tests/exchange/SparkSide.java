import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.spark.util.sketch.BloomFilter;

/**
 * Spark's side of the exchange tests: answers each line of standard input with one line.
 *
 * <pre>
 * create N P                an empty filter of the version that this release makes
 * seeded N BITS SEED        one of version 2 with that seed, where there is that version
 * put FILTER KEY...         the filter with the keys in it
 * check FILTER KEY...       a 1 or 0 for each key
 * union FILTER FILTER       the union
 * size N P                  words and k of an empty filter
 * </pre>
 *
 * Filters and binary keys are hexadecimal with an x in front, strings (in UTF-8) with an s; other
 * keys are longs.
 */
public final class SparkSide {
    private static byte[] bytes(String word) {
        byte[] bytes = new byte[word.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(word.substring(1 + 2 * i, 3 + 2 * i), 16);
        }
        return bytes;
    }

    private static String write(BloomFilter filter) throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        StringBuilder text = new StringBuilder("x");
        for (byte each : stream.toByteArray()) {
            text.append(Character.forDigit(each >> 4 & 15, 16));
            text.append(Character.forDigit(each & 15, 16));
        }
        return text.toString();
    }

    private static BloomFilter create(String[] words) {
        return BloomFilter.create(Long.parseLong(words[1]), Double.parseDouble(words[2]));
    }

    private static BloomFilter seeded(long keys, long bits, int seed) throws Exception {
        return (BloomFilter) BloomFilter.class // not in every release, so by reflection
            .getMethod("create", long.class, long.class, int.class)
            .invoke(null, keys, bits, seed);
    }

    private static BloomFilter read(String word) throws IOException {
        return BloomFilter.readFrom(new ByteArrayInputStream(bytes(word)));
    }

    private static void put(BloomFilter filter, String key) {
        if (key.charAt(0) == 'x') {
            filter.putBinary(bytes(key));
        } else if (key.charAt(0) == 's') {
            filter.putString(new String(bytes(key), StandardCharsets.UTF_8));
        } else {
            filter.putLong(Long.parseLong(key));
        }
    }

    private static boolean contains(BloomFilter filter, String key) {
        if (key.charAt(0) == 'x') {
            return filter.mightContainBinary(bytes(key));
        } else if (key.charAt(0) == 's') {
            return filter.mightContainString(new String(bytes(key), StandardCharsets.UTF_8));
        }
        return filter.mightContainLong(Long.parseLong(key));
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                return write(create(words));
            case "seeded":
                return write(seeded(Long.parseLong(words[1]), Long.parseLong(words[2]),
                    Integer.parseInt(words[3])));
            case "put":
                BloomFilter filter = read(words[1]);
                for (int i = 2; i < words.length; i++) {
                    put(filter, words[i]);
                }
                return write(filter);
            case "check":
                filter = read(words[1]);
                StringBuilder answers = new StringBuilder();
                for (int i = 2; i < words.length; i++) {
                    answers.append(contains(filter, words[i]) ? '1' : '0');
                }
                return answers.toString();
            case "union":
                return write(read(words[1]).mergeInPlace(read(words[2])));
            case "size":
                byte[] made = bytes(write(create(words)));
                int at = made[3] == 1 ? 8 : 12;
                java.nio.ByteBuffer all = java.nio.ByteBuffer.wrap(made);
                return all.getInt(at) + " " + all.getInt(4);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                System.out.println(answer(line.split(" ")));
            } catch (Exception problem) {
                System.out.println("error " + problem);
            }
            System.out.flush();
        }
    }
}

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.spark.util.sketch.BloomFilter;

/** Spark's side of libraries_test.py, which says what the lines are. */
public final class SparkSide {
    private static byte[] bytes(String word) {
        return HexFormat.of().parseHex(word.substring(1));
    }

    private static String write(BloomFilter filter) throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        return "x" + HexFormat.of().formatHex(stream.toByteArray());
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
        BloomFilter filter;
        int first = 3;
        switch (words[0]) {
            case "make":
                filter = BloomFilter.create(Long.parseLong(words[2]), Double.parseDouble(words[3]));
                first = 4;
                break;
            case "seeded":
                return write(seeded(Long.parseLong(words[2]), Long.parseLong(words[3]),
                    Integer.parseInt(words[4])));
            default:
                filter = read(words[2]);
                break;
        }
        StringBuilder answers = new StringBuilder();
        for (int i = first; i < words.length; i++) {
            if (words[0].equals("check")) {
                answers.append(contains(filter, words[i]) ? '1' : '0');
            } else {
                put(filter, words[i]);
            }
        }
        return words[0].equals("check") ? answers.toString() : write(filter);
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

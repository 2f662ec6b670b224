// Where strategies can be chosen: BloomFilter.create with a strategy is package-private.
package com.google.common.hash;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.function.Function;

/** Guava's side of libraries_test.py, which says what the lines are: a kind is a funnel, string,
 *  chars, long or bytes, and a strategy, 64 or 32, with a colon between. */
public final class GuavaSide {
    private static final class Side<T> {
        private final Funnel<? super T> funnel;
        private final Function<String, T> parser;

        Side(Funnel<? super T> funnel, Function<String, T> parser) {
            this.funnel = funnel;
            this.parser = parser;
        }

        private BloomFilter<T> read(String word) throws IOException {
            return BloomFilter.readFrom(new ByteArrayInputStream(bytes(word)), funnel);
        }

        String answer(String[] words) throws IOException {
            BloomFilter<T> filter;
            int first = 3;
            if (words[0].equals("make")) {
                filter = BloomFilter.<T>create(funnel, Long.parseLong(words[2]),
                    Double.parseDouble(words[3]), words[1].endsWith("32")
                        ? BloomFilterStrategies.MURMUR128_MITZ_32
                        : BloomFilterStrategies.MURMUR128_MITZ_64);
                first = 4;
            } else {
                filter = read(words[2]);
            }
            StringBuilder answers = new StringBuilder();
            for (int i = first; i < words.length; i++) {
                T key = parser.apply(words[i]);
                if (words[0].equals("check")) {
                    answers.append(filter.mightContain(key) ? '1' : '0');
                } else {
                    filter.put(key);
                }
            }
            return words[0].equals("check") ? answers.toString() : write(filter);
        }
    }

    private static byte[] bytes(String word) {
        return HexFormat.of().parseHex(word.substring(1));
    }

    private static String write(BloomFilter<?> filter) throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        return "x" + HexFormat.of().formatHex(stream.toByteArray());
    }

    private static String text(String word) {
        return new String(bytes(word), StandardCharsets.UTF_8);
    }

    private static Side<?> side(String funnel) {
        switch (funnel) {
            case "string":
                return new Side<CharSequence>(Funnels.stringFunnel(StandardCharsets.UTF_8),
                    GuavaSide::text);
            case "chars":
                return new Side<CharSequence>(Funnels.unencodedCharsFunnel(), GuavaSide::text);
            case "long":
                return new Side<Long>(Funnels.longFunnel(), Long::parseLong);
            default:
                return new Side<byte[]>(Funnels.byteArrayFunnel(), GuavaSide::bytes);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                System.out.println(side(words[1].split(":")[0]).answer(words));
            } catch (IOException | RuntimeException problem) {
                System.out.println("error " + problem);
            }
            System.out.flush();
        }
    }
}

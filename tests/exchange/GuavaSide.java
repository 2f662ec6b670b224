// Where strategies can be chosen: BloomFilter.create with a strategy is package-private.
package com.google.common.hash;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Guava's side of the exchange tests: answers each line of standard input with one line.
 *
 * <pre>
 * create FUNNEL N P STRATEGY      an empty filter; STRATEGY is 64 or 32
 * put FUNNEL FILTER KEY...        the filter with the keys in it
 * check FUNNEL FILTER KEY...      a 1 or 0 for each key
 * union FUNNEL FILTER FILTER      the union
 * same FUNNEL FILTER              the filter, read and written
 * estimate FUNNEL FILTER          approximateElementCount, expectedFpp
 * </pre>
 *
 * FUNNEL is string, chars, long, bytes or int. Filters, and keys that are strings (in UTF-8) or
 * bytes, are hexadecimal with an x in front.
 */
public final class GuavaSide {
    private interface Side {
        String answer(String[] words) throws IOException;
    }

    private interface Parser<T> {
        T parse(String word);
    }

    private static final class Typed<T> implements Side {
        private final Funnel<? super T> funnel;
        private final Parser<T> parser;

        Typed(Funnel<? super T> funnel, Parser<T> parser) {
            this.funnel = funnel;
            this.parser = parser;
        }

        private BloomFilter<T> read(String word) throws IOException {
            return BloomFilter.readFrom(new ByteArrayInputStream(bytes(word)), funnel);
        }

        private String write(BloomFilter<T> filter) throws IOException {
            ByteArrayOutputStream stream = new ByteArrayOutputStream();
            filter.writeTo(stream);
            return hexadecimal(stream.toByteArray());
        }

        @Override
        public String answer(String[] words) throws IOException {
            if (words[0].equals("create")) {
                BloomFilter.Strategy strategy = words[4].equals("32")
                    ? BloomFilterStrategies.MURMUR128_MITZ_32
                    : BloomFilterStrategies.MURMUR128_MITZ_64;
                long capacity = Long.parseLong(words[2]);
                double rate = Double.parseDouble(words[3]);
                return write(BloomFilter.<T>create(funnel, capacity, rate, strategy));
            }
            BloomFilter<T> filter = read(words[2]);
            switch (words[0]) {
                case "put":
                    for (int i = 3; i < words.length; i++) {
                        filter.put(parser.parse(words[i]));
                    }
                    return write(filter);
                case "check":
                    StringBuilder answers = new StringBuilder();
                    for (int i = 3; i < words.length; i++) {
                        answers.append(filter.mightContain(parser.parse(words[i])) ? '1' : '0');
                    }
                    return answers.toString();
                case "union":
                    filter.putAll(read(words[3]));
                    return write(filter);
                case "same":
                    return write(filter);
                case "estimate":
                    return filter.approximateElementCount() + " " + filter.expectedFpp();
                default:
                    throw new IllegalArgumentException(words[0]);
            }
        }
    }

    private static byte[] bytes(String word) {
        byte[] bytes = new byte[word.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(word.substring(2 * i + 1, 2 * i + 3), 16);
        }
        return bytes;
    }

    private static String hexadecimal(byte[] bytes) {
        StringBuilder text = new StringBuilder("x");
        for (byte each : bytes) {
            text.append(Character.forDigit(each >> 4 & 15, 16));
            text.append(Character.forDigit(each & 15, 16));
        }
        return text.toString();
    }

    private static Side side(String funnel) {
        switch (funnel) {
            case "string":
                return new Typed<CharSequence>(Funnels.stringFunnel(StandardCharsets.UTF_8),
                    word -> new String(bytes(word), StandardCharsets.UTF_8));
            case "chars":
                return new Typed<CharSequence>(Funnels.unencodedCharsFunnel(),
                    word -> new String(bytes(word), StandardCharsets.UTF_8));
            case "long":
                return new Typed<Long>(Funnels.longFunnel(), Long::parseLong);
            case "bytes":
                return new Typed<byte[]>(Funnels.byteArrayFunnel(), GuavaSide::bytes);
            case "int":
                return new Typed<Integer>(Funnels.integerFunnel(), Integer::parseInt);
            default:
                throw new IllegalArgumentException(funnel);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = side(words[1]).answer(words);
            } catch (IOException | RuntimeException exception) {
                answer = "error: " + String.valueOf(exception.getMessage()).replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }
}

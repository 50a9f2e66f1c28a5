// The lab's adapter for Kafka Streams, which has kafka_job alone. The protocol is in lab/runtimes/common/README.md.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.Stores;

public final class Adapter {
    static final String WORKLOAD = "kafka_job";
    static final int MOST_THREADS = 1_024;
    static final int PARTITIONS = 4;
    static final int VALUE_BYTES = 92;
    static final int AMOUNT_AT = Long.BYTES;
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final ObjectMapper JSON = new ObjectMapper();

    static final class UsageError extends Exception {
        UsageError(String message) {
            super(message);
        }
    }

    public static void main(String[] arguments) {
        int status = 0;
        try {
            String verb = arguments.length == 0 ? "" : arguments[0];
            switch (verb) {
                case "describe" -> System.out.println(describe());
                case "run" -> System.out.println(run(optionsOf(arguments)));
                default -> throw new UsageError("describe or run, not '" + verb + "'");
            }
        } catch (UsageError e) {
            System.err.println("lab_kafka_streams: " + e.getMessage());
            status = 2;
        } catch (Exception e) {
            System.err.println("lab_kafka_streams: " + e);
            status = 1;
        }
        System.exit(status);
    }

    static String describe() {
        ObjectNode said = JSON.createObjectNode();
        said.put("runtime", "kafka_streams");
        said.put("version", AppInfoParser.getVersion());
        said.put("compiler", System.getProperty("java.vm.name") + " " + System.getProperty("java.version"));
        said.put("flags", String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments()));
        said.put("allocator", collector());
        ObjectNode entry = said.putObject("workloads").putObject(WORKLOAD);
        entry.put("supported", true);
        entry.putArray("params").add("job").add("records").add("keys").add("commit_ms");
        entry.put("note", "the DSL, one stream thread for each of --threads; totals in a store in memory without a changelog");
        return said.toString();
    }

    static String collector() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().map(GarbageCollectorMXBean::getName)
            .collect(Collectors.joining(", "));
    }

    static Map<String, String> optionsOf(String[] arguments) throws UsageError {
        Map<String, String> options = new HashMap<>(Map.of("--warmup", "1", "--least-ms", "0", "--dress", "plain"));
        for (int i = 1; i < arguments.length; i += 2) {
            if (i + 1 == arguments.length) {
                throw new UsageError(arguments[i] + " has no value");
            }
            options.put(arguments[i], arguments[i + 1]);
        }
        for (String needed : List.of("--workload", "--params", "--threads")) {
            if (!options.containsKey(needed)) {
                throw new UsageError("there is no " + needed);
            }
        }
        return options;
    }

    static long number(Map<String, String> options, String name, long least, long most) throws UsageError {
        try {
            long value = Long.parseLong(options.get(name));
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // As one that is out of range.
        }
        throw new UsageError(name + " is no number from " + least + " to " + most);
    }

    static String run(Map<String, String> options) throws Exception {
        if (!options.get("--workload").equals(WORKLOAD)) {
            throw new UsageError("unknown workload " + options.get("--workload") + "; allowed: " + WORKLOAD);
        }
        if (!options.get("--dress").equals("plain")) {
            throw new UsageError(WORKLOAD + " has no dress " + options.get("--dress"));
        }
        int threads = (int) number(options, "--threads", 1, MOST_THREADS);
        long warmups = number(options, "--warmup", 0, Integer.MAX_VALUE);
        long least = 1_000_000 * number(options, "--least-ms", 0, Integer.MAX_VALUE);
        String broker = System.getenv("LAB_KAFKA_BROKER");
        String topic = System.getenv("LAB_KAFKA_TOPIC");
        Work work = new Work(paramsOf(options.get("--params")), threads, broker, topic);
        ObjectNode out = JSON.createObjectNode();
        if (broker == null || topic == null) {
            return out.put("unsupported", "LAB_KAFKA_BROKER and LAB_KAFKA_TOPIC name no broker: scripts/lab starts one").toString();
        }
        Stopwatch all = new Stopwatch();
        String answer = null;
        long passes = 0;
        for (long i = 0; i < warmups || passes == 0 || all.wall < least; ++i) {
            Stopwatch watch = new Stopwatch();
            String given = Long.toUnsignedString(work.pass(watch));
            if (i < warmups) {
                continue;
            }
            ++passes;
            all.wall += watch.wall;
            all.cpu += watch.cpu;
            answer = answer == null || answer.equals(given) ? given : answer + ", then " + given + " in pass " + passes;
        }
        out.put("answer", answer).put("wall_ns", all.wall).put("cpu_ns", all.cpu).put("passes", passes);
        out.put("items_done", work.records * passes).put("peak_rss_bytes", peakBytes());
        return out.put("allocator", collector()).put("malloc", "own").toString();
    }

    static JsonNode paramsOf(String text) throws UsageError {
        try {
            JsonNode params = JSON.readTree(text);
            if (params.isObject()) {
                return params;
            }
        } catch (IOException e) {
            // As one that is no object.
        }
        throw new UsageError("--params is no JSON object");
    }

    static long peakBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("/proc/self/status has no VmHWM");
    }

    /** Wall and process CPU between start() and stop(), which two threads may call. */
    static final class Stopwatch {
        volatile long wall;
        volatile long cpu;

        static long processCpu() {
            return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        }

        void start() {
            cpu = -processCpu();
            wall = -System.nanoTime();
        }

        void stop() {
            wall += System.nanoTime();
            cpu += processCpu();
        }
    }

    /** Rows of an answer, as lab/runtimes/common/nexmark/rows.hpp adds them up. */
    static final class RowSum {
        long sum;
        long rows;

        void add(long... fields) {
            long hash = 0x9E3779B97F4A7C15L;
            for (long field : fields) {
                hash = (hash ^ field) * 0xBF58476D1CE4E5B9L;
                hash ^= hash >>> 32;
            }
            sum += hash;
            ++rows;
        }
    }

    static final class Total {
        long count;
        long sum;

        static final Serde<Total> SERDE = Serdes.serdeFrom(
            (topic, total) -> ByteBuffer.allocate(2 * Long.BYTES).putLong(total.count).putLong(total.sum).array(),
            (topic, bytes) -> {
                Total total = new Total();
                ByteBuffer from = ByteBuffer.wrap(bytes);
                total.count = from.getLong();
                total.sum = from.getLong();
                return total;
            });
    }

    /** The job of a request. */
    static final class Work {
        final String job;
        final long records;
        final long commitMs;
        final int threads;
        final String broker;
        final String topic;
        int passes;

        Work(JsonNode params, int threads, String broker, String topic) throws UsageError {
            for (String name : List.of("records", "commit_ms")) {
                if (!params.path(name).isIntegralNumber()) {
                    throw new UsageError("--params needs the integer " + name);
                }
            }
            job = params.path("job").asText();
            if (!List.of("count", "copy", "copy_once").contains(job)) {
                throw new UsageError("--params needs job, one of: count copy copy_once");
            }
            records = params.get("records").asLong();
            commitMs = params.get("commit_ms").asLong();
            this.threads = threads;
            this.broker = broker;
            this.topic = topic;
        }

        long pass(Stopwatch watch) throws Exception {
            String name = "lab-streams-" + ProcessHandle.current().pid() + "-" + ++passes;
            if (job.equals("count")) {
                return count(name, watch);
            }
            try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
                admin.createTopics(List.of(new NewTopic(name, PARTITIONS, (short) 1))).all().get();
                copy(name, watch);
                long answer = answerOf(name);
                admin.deleteTopics(List.of(name)).all().get();
                return answer;
            }
        }

        /** What comes through a job. The clock starts with the first. */
        final class Seen {
            private final Stopwatch watch;
            private long seen;
            final CompletableFuture<Void> all = new CompletableFuture<>();

            Seen(Stopwatch watch) {
                this.watch = watch;
            }

            synchronized boolean isLast() {
                if (seen == 0) {
                    watch.start();
                }
                return ++seen == records;
            }
        }

        Properties settings(String name, Path state) {
            Properties settings = new Properties();
            settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
            settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, broker);
            settings.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
            settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
            if (commitMs != 0) {
                settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, commitMs);
            }
            settings.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);
            settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
                job.equals("copy_once") ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
            settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
            // A batch of 16 KiB, the default, is soon full of records of 100 bytes.
            settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 * 1024);
            return settings;
        }

        KafkaStreams begin(StreamsBuilder builder, Properties settings, Seen seen) {
            KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
            streams.setUncaughtExceptionHandler(e -> {
                seen.all.completeExceptionally(e);
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            return streams;
        }

        KStream<Long, byte[]> records(StreamsBuilder builder) {
            return builder.stream(topic, Consumed.with(Serdes.Long(), Serdes.ByteArray()));
        }

        long count(String name, Stopwatch watch) throws Exception {
            Seen seen = new Seen(watch);
            StreamsBuilder builder = new StreamsBuilder();
            records(builder).groupByKey().aggregate(Total::new, (key, value, total) -> {
                boolean last = seen.isLast();
                ++total.count;
                total.sum += ByteBuffer.wrap(value).getLong(AMOUNT_AT);
                if (last) {
                    seen.all.complete(null);
                }
                return total;
            }, Materialized.<Long, Total>as(Stores.inMemoryKeyValueStore("totals")).withKeySerde(Serdes.Long())
                .withValueSerde(Total.SERDE).withLoggingDisabled().withCachingDisabled());
            Path state = Files.createTempDirectory("lab-streams");
            KafkaStreams streams = begin(builder, settings(name, state), seen);
            try {
                seen.all.get();
                RowSum out = totalsOf(streams);
                watch.stop();
                return out.sum;
            } finally {
                end(streams, state);
            }
        }

        /** Asked again until the last total, which is put into the store behind the aggregator, is there. */
        RowSum totalsOf(KafkaStreams streams) {
            for (;;) {
                RowSum out = new RowSum();
                long counted = 0;
                try (KeyValueIterator<Long, Total> all = streams.store(
                        StoreQueryParameters.fromNameAndType("totals", QueryableStoreTypes.<Long, Total>keyValueStore())).all()) {
                    while (all.hasNext()) {
                        KeyValue<Long, Total> each = all.next();
                        out.add(each.key, each.value.count, each.value.sum);
                        counted += each.value.count;
                    }
                }
                if (counted >= records) {
                    return out;
                }
            }
        }

        void copy(String name, Stopwatch watch) throws Exception {
            Seen seen = new Seen(watch);
            StreamsBuilder builder = new StreamsBuilder();
            records(builder).mapValues(value -> {
                if (seen.isLast()) {
                    seen.all.complete(null);
                }
                byte[] twice = value.clone();
                ByteBuffer at = ByteBuffer.wrap(twice);
                at.putLong(AMOUNT_AT, 2 * at.getLong(AMOUNT_AT));
                return twice;
            }).to(name, Produced.with(Serdes.Long(), Serdes.ByteArray()));
            Path state = Files.createTempDirectory("lab-streams");
            KafkaStreams streams = begin(builder, settings(name, state), seen);
            try {
                seen.all.get();
                // It flushes and commits.
                streams.close(PATIENCE);
                watch.stop();
            } finally {
                end(streams, state);
            }
        }

        void end(KafkaStreams streams, Path state) throws IOException {
            streams.close(PATIENCE);
            streams.cleanUp();
            try (var left = Files.walk(state)) {
                left.sorted(java.util.Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }

        /** Of what is committed: the end of a transaction comes to the partitions some time after its commit. */
        long answerOf(String name) {
            List<TopicPartition> all = IntStream.range(0, PARTITIONS).mapToObj(p -> new TopicPartition(name, p)).toList();
            Map<String, Object> settings = Map.of("bootstrap.servers", broker, "isolation.level", "read_committed",
                "enable.auto.commit", false);
            RowSum out = new RowSum();
            long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
            try (KafkaConsumer<Long, byte[]> in = new KafkaConsumer<>(settings, new LongDeserializer(), new ByteArrayDeserializer())) {
                in.assign(all);
                in.seekToBeginning(all);
                while (System.nanoTime() < end) {
                    for (ConsumerRecord<Long, byte[]> record : in.poll(Duration.ofMillis(100))) {
                        ByteBuffer value = ByteBuffer.wrap(record.value());
                        out.add(record.key(), value.getLong(0), value.getLong(AMOUNT_AT));
                    }
                    if (out.rows >= records && in.endOffsets(all).entrySet().stream().allMatch(e -> in.position(e.getKey()) >= e.getValue())) {
                        break;
                    }
                }
            }
            return out.sum;
        }
    }
}

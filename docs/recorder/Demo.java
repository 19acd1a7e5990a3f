import java.io.*;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.*;
import java.util.function.Predicate;
import java.util.stream.Collectors;

class Recorder implements AutoCloseable {
    private final PrintStream out;
    private final AtomicLong ids = new AtomicLong(), sessions = new AtomicLong();
    private final long epoch = System.currentTimeMillis() * 1_000_000 - System.nanoTime();
    Recorder(String path, String db) throws IOException {
        out = new PrintStream(new FileOutputStream(path), false, "UTF-8");
        line("{\"format\":\"isovet-history\",\"version\":1,\"partial\":true,\"db\":" + json(db) + "}");
    }
    /** What a history can hold of a value, as JSON: integers, text, booleans, null, rows; the rest as text. */
    static String json(Object v) {
        if (v == null || v instanceof Boolean || v instanceof Integer || v instanceof Long || v instanceof Short)
            return String.valueOf(v);
        if (v instanceof Map<?, ?> m)
            return new TreeMap<Object, Object>(m).entrySet().stream().map(e -> json(e.getKey().toString()) + ":"
                + json(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        StringBuilder b = new StringBuilder("\"");
        for (char c : (v instanceof byte[] x ? new String(x) : v.toString()).toCharArray())
            b.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' || c > '~' ? String.format("\\u%04x", (int) c) : c);
        return b.append('"').toString();
    }
    private long now() { return epoch + System.nanoTime(); }
    private synchronized void line(String text) { out.print(text + "\n"); out.flush(); }
    void initial(Object key, Object v) {
        line("{\"init\":true,\"ops\":[[\"w\"," + json(key) + "," + json(v) + "]]}"); }
    Session session() { return new Session(sessions.incrementAndGet()); }
    public void close() { line("{\"complete\":true}"); out.close(); }

    class Session {
        private final long number;
        private long start;
        private String name, ops;
        private Session(long number) { this.number = number; }
        void begin(String name) { this.name = name; ops = ""; start = now(); }
        void read(Object key, Object value) { op("r", key, value); }
        void write(Object key, Object value) { op("w", key, value); }
        private void op(String kind, Object key, Object v) {
            ops += (ops.isEmpty() ? "[\"" : ",[\"") + kind + "\"," + json(key) + "," + json(v) + "]"; }
        private String txn(long id) {
            return "\"id\":" + id + ",\"session\":" + number + ",\"name\":" + json(name) + ",\"start\":" + start
                + ",\"ops\":[" + ops + "]";
        }
        void commit(Callable<?> run, Predicate<Exception> isAborted) throws Exception {
            long id = ids.incrementAndGet();
            line("{\"intent\":true," + txn(id) + ",\"commit\":" + now() + "}");
            String status = "unknown";
            try { run.call(); status = "committed"; }
            catch (Exception e) { if (isAborted.test(e)) status = "aborted"; throw e; }
            finally { line("{\"outcome\":" + id + ",\"status\":\"" + status + "\""
                + (status.equals("unknown") ? "" : ",\"end\":" + now()) + "}"); }
        }
        void abort() { line("{\"status\":\"aborted\",\"end\":" + now() + "," + txn(ids.incrementAndGet()) + "}"); }
    }
}

/** A lost update, recorded. The predicate of commit says whether the commit surely had no effect. */
class Demo {
    public static void main(String[] args) throws Exception {
        Map<String, Integer> db = new HashMap<>(Map.of("x", 1));
        try (Recorder rec = new Recorder("h.jsonl", "a map")) {
            rec.initial("x", 1);
            Recorder.Session[] both = {rec.session(), rec.session()};
            for (int i = 0; i < 2; i++) {
                both[i].begin("add");
                both[i].read("x", db.get("x")); // both read 1: a lost update
                both[i].write("x", 2 + i);
            }
            for (int i = 0; i < 2; i++) {
                int v = 2 + i;
                both[i].commit(() -> db.put("x", v), e -> false);
            }
            both[0].begin("given up");
            both[0].write("x", 4.5);
            both[0].abort();
        }
    }
}

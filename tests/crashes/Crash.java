// Ways in which Java programs fail: java Crash.java NAME
public class Crash {
    static int width(java.util.Map<String, Integer> widths, String name) {
        if (!widths.containsKey(name)) {
            throw new IllegalStateException("no width for " + name + " in 0x" + Integer.toHexString(System.identityHashCode(widths)));
        }
        return widths.get(name);
    }

    static int load(String name) {
        return width(new java.util.HashMap<>(), name);
    }

    static int wrapped(String name) {
        try {
            return load(name);
        } catch (IllegalStateException error) {
            throw new RuntimeException("the worker failed", error);
        }
    }

    static int other(String name) {
        return Integer.parseInt(name);
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "plain" -> load("wq");
            case "wrapped" -> wrapped("wq");
            case "other" -> other("wq");
            case "thread" -> {
                Thread worker = new Thread(() -> load("wq"), "pool-1-thread-7");
                worker.start();
                worker.join();
            }
            default -> System.exit(1);
        }
    }
}

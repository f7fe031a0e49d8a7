/*
 * parse_simdjson - how long simdjson's DOM takes merely to parse the given files, one after the other on one thread.
 *
 * usage: parse_simdjson FILE...
 *
 * Prints one line of JSON: the seconds of loading (reading into simdjson's padded buffer) and of parsing, and the
 * bytes. The parser is used for one file only, so that the memory of one does not help the next.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <simdjson.h>

namespace {

struct total {
    double load = 0, parse = 0;
    std::uint64_t bytes = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool parse_file(const char *path, total &sum) {
    auto start = std::chrono::steady_clock::now();
    simdjson::padded_string text;
    auto error = simdjson::padded_string::load(path).get(text);
    sum.load += seconds_since(start);
    if (!error) {
        simdjson::dom::parser parser;
        simdjson::dom::element root;
        start = std::chrono::steady_clock::now();
        error = parser.parse(text).get(root);
        sum.parse += seconds_since(start);
        sum.bytes += text.size();
    }
    if (error)
        std::fprintf(stderr, "parse_simdjson: %s: %s\n", path, simdjson::error_message(error));
    return !error;
}

} // namespace

int main(int argc, char **argv) {
    total sum;
    for (int i = 1; i < argc; i++)
        if (!parse_file(argv[i], sum))
            return 65;
    std::printf("{\"seconds\": {\"load\": %.6f, \"parse\": %.6f}, \"bytes\": %llu}\n", sum.load, sum.parse,
                static_cast<unsigned long long>(sum.bytes));
    return 0;
}

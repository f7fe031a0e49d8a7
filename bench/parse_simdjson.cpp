/*
 * parse_simdjson.cpp - measures simdjson on the given files, one after the other on one thread.
 *
 * usage: parse_simdjson [--on-demand] FILE...
 *
 * By default the DOM parser parses the files. With --on-demand the On-Demand parser visits the events of a device
 * trace, or the nodes of a host trace, and sums the values that sutra's columns contain; it checks the values and
 * builds no columns. Prints one line of JSON: wall and CPU seconds of loading (into simdjson's padded buffer) and of
 * parsing, and the bytes. Each file has a new parser, so that no file reuses the memory of an earlier one.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

#include <simdjson.h>

namespace {

using namespace simdjson;

struct total {
    double load = 0, parse = 0;
    std::uint64_t bytes = 0;
    double values = 0; /* summed, so that the compiler keeps the reads */
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/* A value of an event, an attribute or a node, by its key. */
void add_value(ondemand::value value, std::string_view key, total &sum) {
    static constexpr std::string_view numbers[] = {
        "ts", "dur",       "External id", "correlation", "stream",
        "id", "ctrl_deps", "parent",      "rf_id",       "Record function id"};
    static constexpr std::string_view others[] = {"pid", "tid", "ph", "cat", "name"};
    for (auto number : numbers) {
        double found;
        if (key == number && !value.get_double().get(found))
            sum.values += found;
    }
    for (auto other : others)
        if (key == other)
            sum.values += double(value.raw_json_token().size());
}

/* "args" of an event, or "attrs" of a node. */
void add_members(ondemand::value value, total &sum) {
    ondemand::object object;
    ondemand::array array;
    if (!value.get_object().get(object)) {
        for (auto field : object)
            add_value(field.value(), field.unescaped_key(), sum);
    } else if (!value.get_array().get(array)) {
        for (auto element : array)
            for (auto field : element.get_object())
                add_value(field.value(), field.unescaped_key(), sum);
    }
}

void add_object(ondemand::object object, total &sum) {
    for (auto field : object) {
        std::string_view key = field.unescaped_key();
        if (key == "args" || key == "attrs")
            add_members(field.value(), sum);
        else
            add_value(field.value(), key, sum);
    }
}

error_code walk(const padded_string &text, total &sum) {
    try {
        ondemand::parser parser;
        ondemand::document document = parser.iterate(text);
        for (auto member : document.get_object()) {
            std::string_view key = member.unescaped_key();
            if (key == "traceEvents" || key == "nodes")
                for (auto element : member.value().get_array())
                    add_object(element.get_object(), sum);
        }
    } catch (const simdjson_error &error) {
        return error.error();
    }
    return SUCCESS;
}

error_code parse_all(const padded_string &text) {
    dom::parser parser;
    dom::element root;
    return parser.parse(text).get(root);
}

bool parse_file(const char *path, bool on_demand, total &sum) {
    auto start = std::chrono::steady_clock::now();
    padded_string text;
    auto error = padded_string::load(path).get(text);
    sum.load += seconds_since(start);
    if (!error) {
        start = std::chrono::steady_clock::now();
        error = on_demand ? walk(text, sum) : parse_all(text);
        sum.parse += seconds_since(start);
        sum.bytes += text.size();
    }
    if (error)
        std::fprintf(stderr, "parse_simdjson: %s: %s\n", path, error_message(error));
    return !error;
}

} // namespace

int main(int argc, char **argv) {
    total sum;
    bool on_demand = argc > 1 && std::strcmp(argv[1], "--on-demand") == 0;
    for (int i = 1 + on_demand; i < argc; i++)
        if (!parse_file(argv[i], on_demand, sum))
            return 65;
    std::printf("{\"seconds\": {\"load\": %.6f, \"parse\": %.6f, \"processor\": %.6f}, \"bytes\": %llu, \"sum\": %g}\n",
                sum.load, sum.parse, double(std::clock()) / CLOCKS_PER_SEC, static_cast<unsigned long long>(sum.bytes),
                sum.values);
    return 0;
}

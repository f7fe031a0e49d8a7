/*
 * file_kind.c - the table of first bytes.
 */
#include "read/file_kind.h"

#include <string.h>

/* Those with spaces before them count as well where `text` is true. */
static const struct {
    const char *bytes;
    size_t size;
    bool text;
    const char *what;
} kinds[] = {
#define KIND(bytes, text, what)                                                                                        \
    { bytes, sizeof(bytes) - 1, text, what }
    KIND("version https://git-lfs", true, "a pointer of Git LFS: run 'git lfs pull' where it comes from"),
    KIND("<!DOCTYPE", true, "a web page: download the file itself"),
    KIND("<!doctype", true, "a web page: download the file itself"),
    KIND("<html", true, "a web page: download the file itself"),
    KIND("<HTML", true, "a web page: download the file itself"),
    KIND("<?xml", true, "XML, maybe what a server said instead of giving the file"),
    KIND("PK\003\004", false, "a zip archive: unpack it and give the trace in it"),
    KIND("SQLite format 3", false,
         "an SQLite database, as Nsight Systems exports it: give a trace of PyTorch's profiler"),
    KIND("BZh", false, "compressed by bzip2: decompress it, or compress it by gzip or zstd"),
    KIND("\3757zXZ", false, "compressed by xz: decompress it, or compress it by gzip or zstd"),
    KIND("\x7f"
         "ELF",
         false, "a program"),
    KIND("%PDF", false, "a PDF document"),
    /* The first message of a Chakra file: a length, and a string, the schema. */
    KIND("\035\012\006schema", false, "a Chakra file (protobuf): 'sutra jsonize' makes JSON of it"),
#undef KIND
};

static size_t skip_spaces(const char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && memchr(" \t\r\n", bytes[at], 4))
        at++;
    return at;
}

bool may_be_json(const char *bytes, size_t size) {
    size_t at = skip_spaces(bytes, size);
    return at == size || bytes[at] == '{' || bytes[at] == '[' || bytes[at] == '\xef';
}

/* A message of protobuf with a length before it: a field of a string or a message that lies within it. */
static bool is_protobuf(const unsigned char *bytes, size_t size) {
    return size > 4 && bytes[0] > 2 && bytes[0] < 0x80 && bytes[1] == 0x0a && bytes[2] <= bytes[0] - 2;
}

const char *file_kind(const char *bytes, size_t size) {
    size_t spaces = skip_spaces(bytes, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t at = kinds[i].text ? spaces : 0;
        if (size - at >= kinds[i].size && memcmp(bytes + at, kinds[i].bytes, kinds[i].size) == 0)
            return kinds[i].what;
    }
    if (is_protobuf((const unsigned char *)bytes, size))
        return "protobuf by the look of it, as Chakra files are: 'sutra jsonize' makes JSON of those";
    return size > 0 && bytes[0] == 0 ? "binary: it begins with a zero byte" : NULL;
}

/*
 * code_names.c - implements code_names.h. Cost: O(length of a name), and O(log n) comparisons with the tables.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "facts/code_names.h"
#include "text/numbers.h"

/* ---- Tables ----
 *
 * Modules of the standard library of Python 3.8 to 3.14 (sys.stdlib_module_names), and libraries of training and
 * inference. In the order of strcmp().
 */

/* clang-format off */
static const char *const standard_library[] = {
    "__future__", "_abc", "_aix_support", "_android_support", "_apple_support", "_ast", "_ast_unparse", "_asyncio",
    "_bisect", "_blake2", "_bootlocale", "_bootsubprocess", "_bz2", "_codecs", "_codecs_cn", "_codecs_hk",
    "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw", "_collections", "_collections_abc", "_colorize",
    "_compat_pickle", "_compression", "_contextvars", "_crypt", "_csv", "_ctypes", "_curses", "_curses_panel",
    "_datetime", "_dbm", "_decimal", "_dummy_threading", "_elementtree", "_frozen_importlib",
    "_frozen_importlib_external", "_functools", "_gdbm", "_hashlib", "_heapq", "_hmac", "_imp", "_interpchannels",
    "_interpqueues", "_interpreters", "_io", "_ios_support", "_json", "_locale", "_lsprof", "_lzma", "_markupbase",
    "_md5", "_monitoring", "_msi", "_multibytecodec", "_multiprocessing", "_opcode", "_opcode_metadata", "_operator",
    "_osx_support", "_overlapped", "_pickle", "_posixshmem", "_posixsubprocess", "_py_abc", "_py_warnings",
    "_pydatetime", "_pydecimal", "_pyio", "_pylong", "_pyrepl", "_queue", "_random", "_remote_debugging", "_scproxy",
    "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_signal", "_sitebuiltins", "_socket", "_sqlite3", "_sre",
    "_ssl", "_stat", "_statistics", "_string", "_strptime", "_struct", "_suggestions", "_symtable", "_sysconfig",
    "_thread", "_threading_local", "_tkinter", "_tokenize", "_tracemalloc", "_types", "_typing", "_uuid", "_warnings",
    "_weakref", "_weakrefset", "_winapi", "_xxinterpchannels", "_xxsubinterpreters", "_zoneinfo", "_zstd", "abc",
    "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "atexit",
    "audioop", "base64", "bdb", "binascii", "binhex", "bisect", "builtins", "bz2", "cProfile", "calendar", "cgi",
    "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys", "compileall",
    "compression", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv",
    "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils", "doctest",
    "dummy_threading", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp",
    "fileinput", "fnmatch", "formatter", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass",
    "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib",
    "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "lib2to3",
    "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path",
    "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "parser", "pathlib", "pdb", "pickle",
    "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix", "posixpath", "pprint", "profile",
    "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random",
    "re", "readline", "reprlib", "resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors",
    "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd",
    "sqlite3", "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "statistics", "string", "stringprep",
    "struct", "subprocess", "sunau", "symbol", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile",
    "telnetlib", "tempfile", "termios", "textwrap", "this", "threading", "time", "timeit", "tkinter", "token",
    "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing",
    "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg",
    "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
};

static const char *const libraries[] = {
    "PIL", "accelerate", "apex", "bitsandbytes", "colossalai", "deep_ep", "deep_gemm", "deepspeed", "diffusers",
    "einops", "fairscale", "fairseq", "fbgemm_gpu", "flash_attn", "flashinfer", "fsspec", "hydra", "jax", "keras",
    "lightning", "lightning_fabric", "lmdeploy", "mamba_ssm", "matplotlib", "megatron", "monai", "nemo", "numba",
    "numpy", "onnxruntime", "openrlhf", "optimum", "pandas", "peft", "pyarrow", "pydantic", "pytorch_lightning",
    "ray", "safetensors", "scipy", "sentence_transformers", "sgl_kernel", "sglang", "sklearn", "tensorboard",
    "tensorrt_llm", "tilelang", "timm", "tokenizers", "torch_geometric", "torchao", "torchaudio", "torchmetrics",
    "torchrec", "torchtitan", "torchtune", "torchvision", "tqdm", "transformer_engine", "transformers", "triton",
    "trl", "verl", "vllm", "wandb", "webdataset", "xformers", "yaml", "zmq",
};
/* clang-format on */

#define MODULE_NAME_MAX 40

static int compare_module(const void *name, const void *row) {
    return strcmp(name, *(const char *const *)row);
}

/* Whether a name of `n` bytes is in a table. */
static bool is_listed(const char *name, size_t n, const char *const *table, size_t n_rows) {
    char text[MODULE_NAME_MAX];
    if (n >= sizeof text)
        return false;
    memcpy(text, name, n);
    text[n] = 0;
    return bsearch(text, table, n_rows, sizeof *table, compare_module);
}

/* ---- Paths ---- */

/* Whether a directory of installed packages begins at `at`. */
static bool is_packages_folder(const char *at, const char *end) {
    return end - at >= 13 && (memcmp(at, "site-packages", 13) == 0 || memcmp(at, "dist-packages", 13) == 0);
}

/* Whether a directory of Windows, which ends at `end`, contains a Python: "Python312", "anaconda3", "miniforge3", or a
 * directory of "envs" (conda) or "versions" (pyenv). */
static bool is_windows_python(const char *path, const char *end) {
    static const char *const names[] = {"python", "conda", "forge"};
    const char *name = end;
    while (name > path && name[-1] != '/' && name[-1] != '\\')
        name--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *at = name; at + strlen(names[i]) <= end; at++)
            if (strncasecmp(at, names[i], strlen(names[i])) == 0)
                return true;
    return (name - path >= 6 && memcmp(name - 6, "\\envs\\", 6) == 0) ||
           (name - path >= 10 && memcmp(name - 10, "\\versions\\", 10) == 0);
}

bool path_is_in_standard_library(const char *path, size_t n) {
    static const char library[] = "/lib/python3";
    const char *end = path + n;
    for (const char *at = path; (at = memmem(at, (size_t)(end - at), library, sizeof library - 1));) {
        at += sizeof library - 1;
        const char *folder = memchr(at, '/', (size_t)(end - at));
        if (!folder)
            return false;
        folder++;
        if (!is_packages_folder(folder, end))
            return true;
    }
    for (const char *at = path; n && *path != '/' && (at = memchr(at, '\\', (size_t)(end - at))); at++)
        if (end - at > 5 && at[4] == '\\' && strncasecmp(at + 1, "lib", 3) == 0 && !is_packages_folder(at + 5, end) &&
            is_windows_python(path, at))
            return true;
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

#define GENERATED_LETTERS 20 /* of the name of a generated file, after "c" */

/* Whether a file name of `n` bytes, without extension, is a hash of torch.compile. */
static bool is_generated(const char *name, size_t n) {
    size_t i = 1;
    while (i < n && (is_digit(name[i]) || is_letter(name[i])))
        i++;
    return n > GENERATED_LETTERS && *name == 'c' && i == n;
}

static enum code_owner owner_of_file(const char *path, size_t n) {
    const char *end = path + n, *package = NULL;
    if (*path == '<' || path_is_in_standard_library(path, n))
        return CODE_OTHER;
    size_t n_first = 0, n_component = 0;
    for (const char *at = path; at <= end; at += n_component + 1) {
        n_component = 0;
        while (at + n_component < end && at[n_component] != '/' && at[n_component] != '\\')
            n_component++;
        const bool is_file = at + n_component == end;
        if (is_file && n_component > 3 && memcmp(end - 3, ".py", 3) == 0)
            n_component -= 3;
        if (is_file && is_generated(at, n_component))
            return CODE_OTHER;
        if (n_component > 14 && memcmp(at, "torchinductor_", 14) == 0)
            return CODE_OTHER;
        n_first = at == path ? n_component : n_first;
        if (!is_file && n_component == 13 && is_packages_folder(at, end))
            package = at + 14;
        if (is_file)
            break;
    }
    if (package)
        return end - package >= 6 && (memcmp(package, "torch/", 6) == 0 || memcmp(package, "torch\\", 6) == 0)
                   ? CODE_OTHER
                   : CODE_LIBRARY;
    if ((n_first == 5 && memcmp(path, "torch", 5) == 0) ||
        is_listed(path, n_first, standard_library, sizeof standard_library / sizeof *standard_library))
        return CODE_OTHER;
    return is_listed(path, n_first, libraries, sizeof libraries / sizeof *libraries) ? CODE_LIBRARY : CODE_USER;
}

/* ---- Names ---- */

bool code_name_parse(const char *name, struct code_name *parts) {
    for (const char *open = strchr(name, '('); open; open = strchr(open + 1, '(')) {
        uint32_t line = 0;
        const char *at = open + 1;
        while (is_digit(*at) && line < UINT32_MAX / 10 - 1)
            line = line * 10 + (uint32_t)(*at++ - '0');
        if (at == open + 1 || open == name || strncmp(at, "): ", 3) != 0 || !at[3])
            continue;
        *parts =
            (struct code_name){.file = name, .function = at + 3, .file_length = (size_t)(open - name), .line = line};
        return true;
    }
    return false;
}

enum code_owner code_owner_of(const char *name) {
    struct code_name parts;
    return code_name_parse(name, &parts) ? owner_of_file(parts.file, parts.file_length) : CODE_OTHER;
}

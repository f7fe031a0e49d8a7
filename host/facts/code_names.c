/*
 * code_names.c - implements code_names.h. Cost: O(length of a name), and O(log n) comparisons with the tables.
 */
#include <stdio.h>
#include <string.h>

#include "base/shared.h"
#include "facts/code_names.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Tables ----
 *
 * Torch and the modules of the standard library of Python 3.8 to 3.14 (sys.stdlib_module_names), and libraries of
 * training and inference. In the order of strcmp().
 */

/* clang-format off */
static const char *const torch_and_standard_library[] = {
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
    "tokenize", "tomllib", "torch", "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types",
    "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser",
    "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
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

/* Whether a name of `n` bytes is in a table. */
static bool is_listed(const char *name, size_t n, const char *const *table, size_t n_rows) {
    size_t i;
    BISECT(i, n_rows, strncmp(table[i], name, n) < 0);
    return i < n_rows && strncmp(table[i], name, n) == 0 && !table[i][n];
}

/* ---- Paths ---- */

static bool is_separator(const char *path, char c) {
    return c == '/' || (c == '\\' && *path != '/');
}

const char *path_find(const char *path, size_t n, const char *part) {
    const size_t length = strlen(part);
    for (const char *at = path; (size_t)(path + n - at) >= length; at++) {
        size_t i = 0;
        while (i < length && (at[i] == part[i] || (part[i] == '/' && is_separator(path, at[i]))))
            i++;
        if (i == length)
            return at;
    }
    return NULL;
}

const char *path_file(const char *path, size_t n) {
    const char *file = path + n;
    while (file > path && !is_separator(path, file[-1]))
        file--;
    return file;
}

bool path_has_folder(const char *path, size_t n, const char *folder) {
    char inner[32];
    snprintf(inner, sizeof inner, "/%s", folder);
    return path_find(path, n, inner) || path_find(path, MIN(n, strlen(folder)), folder);
}

/* Whether a directory of installed packages begins at `at`. */
static bool is_packages_folder(const char *at, const char *end) {
    const size_t n = (size_t)(end - at);
    return text_begins_with(at, n, "site-packages") || text_begins_with(at, n, "dist-packages");
}

/* Whether a directory of Windows, which ends at `end`, contains a Python: "Python312", "anaconda3", "miniforge3", or a
 * directory of "envs" (conda) or "versions" (pyenv). */
static bool is_windows_python(const char *path, const char *end) {
    const char *name = path_file(path, (size_t)(end - path));
    const size_t n = (size_t)(end - name), n_parents = (size_t)(name - path);
    return text_has_in_any_case(name, n, "python") || text_has_in_any_case(name, n, "conda") ||
           text_has_in_any_case(name, n, "forge") || (n_parents >= 6 && memcmp(name - 6, "\\envs\\", 6) == 0) ||
           (n_parents >= 10 && memcmp(name - 10, "\\versions\\", 10) == 0);
}

bool path_is_in_standard_library(const char *path, size_t n) {
    const char *end = path + n;
    for (const char *at = path; (at = memmem(at, (size_t)(end - at), "/lib/python3", 12));) {
        at = memchr(at + 12, '/', (size_t)(end - at - 12));
        if (!at)
            return false;
        if (!is_packages_folder(at + 1, end))
            return true;
    }
    for (const char *at = path; n && *path != '/' && (at = memchr(at, '\\', (size_t)(end - at))); at++)
        if (end - at > 5 && at[4] == '\\' && strncasecmp(at + 1, "lib", 3) == 0 && !is_packages_folder(at + 5, end) &&
            is_windows_python(path, at))
            return true;
    return false;
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
    size_t n_first = 0; /* the package, or the module of a file without directory */
    n -= n > 3 && memcmp(path + n - 3, ".py", 3) == 0 ? 3 : 0;
    const char *file = path_file(path, n);
    if (*path == '<' || path_is_in_standard_library(path, n) || is_generated(file, (size_t)(path + n - file)) ||
        path_has_folder(path, n, "torchinductor_") || path_has_folder(path, n, "site-packages/torch/") ||
        path_has_folder(path, n, "dist-packages/torch/"))
        return CODE_OTHER;
    if (path_has_folder(path, n, "site-packages/") || path_has_folder(path, n, "dist-packages/"))
        return CODE_LIBRARY;
    while (n_first < n && !is_separator(path, path[n_first]))
        n_first++;
    if (is_listed(path, n_first, torch_and_standard_library,
                  sizeof torch_and_standard_library / sizeof *torch_and_standard_library))
        return CODE_OTHER;
    return is_listed(path, n_first, libraries, sizeof libraries / sizeof *libraries) ? CODE_LIBRARY : CODE_USER;
}

/* ---- Names ---- */

bool code_name_parse(const char *name, struct code_name *parts) {
    for (const char *close = name; (close = strstr(close, "): ")); close++) {
        const char *digits = close;
        int64_t line;
        while (digits > name && is_digit(digits[-1]))
            digits--;
        if (digits < name + 2 || digits[-1] != '(' || !close[3] ||
            !integer_parse(digits, (size_t)(close - digits), &line) || line > UINT32_MAX)
            continue;
        *parts = (struct code_name){name, close + 3, (size_t)(digits - 1 - name), (uint32_t)line};
        return true;
    }
    return false;
}

enum code_owner code_owner_of(const char *name) {
    struct code_name parts;
    return code_name_parse(name, &parts) ? owner_of_file(parts.file, parts.file_length) : CODE_OTHER;
}

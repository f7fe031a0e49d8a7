/*
 * code_names.h - Python functions as Kineto names them, whose code they are, and paths of files.
 *
 *     mymodel/router.py(12): route            the user's
 *     vllm/model_executor/layers.py(8): f     a library's: libraries[] in code_names.c, or installed packages
 *     torch/nn/modules/linear.py(130): f      neither: torch, Python's standard library, generated code
 *
 * Kineto removes the prefixes in sys.path from paths. So the first component of a path is the name of a package or a
 * module, and a file of the user with the name of a known module counts as this module.
 */
#ifndef FACTS_CODE_NAMES_H
#define FACTS_CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of "FILE(LINE): FUNCTION"; pointers into the name. */
struct code_name {
    const char *file, *function;
    size_t file_length;
    uint32_t line;
};

/* False: the name has another form. O(length). */
bool code_name_parse(const char *name, struct code_name *parts);

enum code_owner { CODE_USER, CODE_LIBRARY, CODE_OTHER };

/* The owner of a function by its name; CODE_OTHER for names of another form. O(length). */
enum code_owner code_owner_of(const char *name);

/* ---- Paths of `n` bytes ---- */

/* Whether a path has a directory `folder`, such as "torch/", or a component that begins with `folder`. */
bool path_has_folder(const char *path, size_t n, const char *folder);

/* The first position of `part`, such as "/Register"; NULL if absent. A '/' of `part` matches each separator of the path:
 * '\\' too, except in paths of Unix, which begin with '/'. O(n). */
const char *path_find(const char *path, size_t n, const char *part);

/* The last component of a path; its end is the path's. */
const char *path_file(const char *path, size_t n);

/* Whether a file belongs to an installed standard library: ".../lib/python3.12/", or "...\Python312\Lib\" on Windows,
 * without a directory of installed packages below it. O(n). */
bool path_is_in_standard_library(const char *path, size_t n);

#endif

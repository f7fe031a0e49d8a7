/*
 * kernel_name.h - what people call a kernel or an operator, of the name that the compiler or the framework gave it.
 *
 *     void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >
 *         (at::TensorIteratorBase&, ...)::{lambda(int)#1}>(int, ...)            elementwise CUDAFunctor_add<float>
 *
 * Return type, namespaces and parameters go; of the template's arguments the innermost one that computes stays, or all
 * where none does: numbers, numbers' types and what only holds data do not compute. Mangled names (_Z...) are read as
 * far as they need no table of substitutions. Of other names only namespaces go.
 */
#ifndef TEXT_KERNEL_NAME_H
#define TEXT_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* More of a reduced name is left out. */
#define KERNEL_NAME_MAX 1024

/* False: there is nothing to leave out, and `reduced` is the name, if that has room. O(length). */
bool kernel_name_reduce(const char *name, char reduced[KERNEL_NAME_MAX]);

#endif

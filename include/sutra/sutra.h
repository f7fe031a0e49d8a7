/*
 * sutra.h - all of libsutra: reading host and device traces, linking them, writing ET+; critical paths; call trees;
 * Chakra files for simulators.
 *
 * Structs that begin with `size` may grow at their end in later versions; `size` is sizeof the struct as the caller
 * knows it, and always the caller's to set. In options all fields that are not set are 0, and options may be NULL;
 * SUTRA_USAGE: the size is too small, or something is set that this version does not know. A report is filled as far as
 * the caller knows it; fields that this version does not know become 0.
 */
#ifndef SUTRA_SUTRA_H
#define SUTRA_SUTRA_H

#include "sutra/analyze.h"
#include "sutra/collectives.h"
#include "sutra/columns.h"
#include "sutra/context.h"
#include "sutra/convert.h"
#include "sutra/critical_path.h"
#include "sutra/device.h"
#include "sutra/diff.h"
#include "sutra/dlrm.h"
#include "sutra/error.h"
#include "sutra/legacy.h"
#include "sutra/link.h"
#include "sutra/merge.h"
#include "sutra/operators.h"
#include "sutra/overview.h"
#include "sutra/report.h"
#include "sutra/rewrite.h"
#include "sutra/simulate.h"
#include "sutra/table.h"
#include "sutra/trace.h"
#include "sutra/tree.h"

#endif

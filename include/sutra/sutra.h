/*
 * sutra.h - all headers of libsutra: read, link, convert, analyze, compare and rewrite PyTorch traces; simulate Chakra
 * .et files.
 *
 * Structs that begin with `size` may grow at their end in later versions. The caller sets `size` to sizeof its struct.
 * In options, all unset fields are 0, and options may be NULL. SUTRA_USAGE: the size is too small, or a field unknown
 * to this version is set. In reports, fields unknown to this version are set to 0, and fields unknown to the caller are
 * omitted.
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
#include "sutra/hang.h"
#include "sutra/legacy.h"
#include "sutra/link.h"
#include "sutra/memory.h"
#include "sutra/merge.h"
#include "sutra/nsys.h"
#include "sutra/operators.h"
#include "sutra/overview.h"
#include "sutra/pipeline.h"
#include "sutra/profiler.h"
#include "sutra/report.h"
#include "sutra/rewrite.h"
#include "sutra/simulate.h"
#include "sutra/table.h"
#include "sutra/trace.h"
#include "sutra/tracelens.h"
#include "sutra/tree.h"

#endif

/*
 * sutra.h - all of libsutra: reading host and device traces, linking them, writing ET+; critical paths; call trees.
 */
#ifndef SUTRA_SUTRA_H
#define SUTRA_SUTRA_H

#include "sutra/analyze.h"
#include "sutra/context.h"
#include "sutra/critical_path.h"
#include "sutra/device.h"
#include "sutra/dlrm.h"
#include "sutra/error.h"
#include "sutra/legacy.h"
#include "sutra/link.h"
#include "sutra/report.h"
#include "sutra/table.h"
#include "sutra/trace.h"
#include "sutra/tree.h"

#endif

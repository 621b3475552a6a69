// SPDX-License-Identifier: MIT
#pragma once

#include "agent/cli/options.h"
#include "agent/cli/progress.h"
#include "agent/report/report.h"

namespace preflight {

/// Colours and width for what goes to stdout: --color, NO_COLOR (no-color.org), TERM=dumb, and the
/// terminal's columns (COLUMNS first), kept between 40 and 120; 100 when it is no terminal.
TextStyle style_for_stdout(const Options& options);

/// A line that is redrawn, where stderr is a terminal that can.
ProgressStyle progress_style_for_stderr(const Options& options);

}  // namespace preflight

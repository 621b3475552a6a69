// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "agent/measure/record.h"

namespace preflight {

/// What --measure prints: one measurement, or with `before` the two side by side and their ratio.
std::string measure_text(const MeasureRecord& now, const MeasureRecord* before);

/// The record with one more member, "before": a record or null.
std::string measure_json(const MeasureRecord& now, const MeasureRecord* before);

}  // namespace preflight

// A strict reader of the OpenMetrics text format: what it takes, each parser takes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace coflux::test {

struct openmetrics_family {
    std::string type;
    std::string unit;
    std::string help;
    std::map<std::string, double> samples;  ///< by the name with its suffix and its labels, as in the text
};

/// By names. A text that breaks a rule of the format fails the test, with the line.
[[nodiscard]] std::map<std::string, openmetrics_family> read_openmetrics(std::string_view text);

}  // namespace coflux::test

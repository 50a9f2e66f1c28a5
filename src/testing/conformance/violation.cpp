#include <coflux/testing/conformance/violation.hpp>

namespace coflux::testing {

std::string to_string(const violations& all) {
    std::string text;
    for (const violation& v : all) text += v.law + ": " + v.seen + '\n';
    return text;
}

}  // namespace coflux::testing

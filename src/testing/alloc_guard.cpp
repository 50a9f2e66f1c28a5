#include <coflux/testing/alloc_guard.hpp>

#include <exception>
#include <string>

#include <coflux/testing/report.hpp>

namespace coflux::testing {

alloc_guard::alloc_guard(const void* of, counter count, std::size_t least, std::size_t most,
                         std::source_location where) noexcept
    : of_(of),
      count_(count),
      least_(least),
      most_(most),
      before_(count(of)),
      exceptions_(std::uncaught_exceptions()),
      where_(where) {}

alloc_guard::~alloc_guard() {
    const std::size_t made = count();
    const bool checks = of_ != nullptr || counts_new();
    if (!checks || (made >= least_ && made <= most_) || std::uncaught_exceptions() > exceptions_) return;
    report_failure(std::string(of_ != nullptr ? "the resource was asked for memory" : "operator new was called") + ' ' +
                       std::to_string(made) + " times here, not " + (least_ == most_ ? "" : "at most ") +
                       std::to_string(most_),
                   where_);
}

}  // namespace coflux::testing

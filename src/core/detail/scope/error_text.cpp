#include "core/detail/scope/error_text.hpp"

#include <cstdio>

#include "core/detail/readable_name.hpp"

namespace coflux::detail {
namespace {

/// The error that `error` was nested upon by std::throw_with_nested(); nullptr: none.
std::exception_ptr print_one(const char* margin, const char* what, const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s%s: %s\n", margin, what, e.what());
        const auto* const outer = dynamic_cast<const std::nested_exception*>(&e);
        return outer != nullptr ? outer->nested_ptr() : nullptr;
    } catch (const std::nested_exception& e) {
        std::fprintf(stderr, "%s%s: not derived from std::exception\n", margin, what);
        return e.nested_ptr();
    } catch (...) {
        std::fprintf(stderr, "%s%s: not derived from std::exception\n", margin, what);
    }
    return nullptr;
}

void print_with_causes(const char* margin, const char* what, const std::exception_ptr& error) noexcept {
    for (std::exception_ptr e = print_one(margin, what, error); e != nullptr;) e = print_one(margin, "  caused by", e);
}

}  // namespace

void print_errors(const char* margin, const std::exception_ptr& error, std::span<const std::exception_ptr> others,
                  std::source_location where) noexcept {
    print_with_causes(margin, "error", error);
    if (where.line() != 0) {
        std::fprintf(stderr, "%s  in %s at %s:%u\n", margin, readable_name(where.function_name()).c_str(),
                     where.file_name(), static_cast<unsigned>(where.line()));
    }
    for (const std::exception_ptr& other : others) print_with_causes(margin, "also", other);
}

}  // namespace coflux::detail

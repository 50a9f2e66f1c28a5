#include <coflux/testing/inject.hpp>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include <coflux/core/task.hpp>
#include <coflux/testing/report.hpp>

namespace coflux::testing {
namespace {

template <typename Error>
bool is(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const Error&) {
        return true;
    } catch (...) {
        return false;
    }
}

std::string what_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

/// The value of COFLUX_INJECT.
struct only_run {
    std::string name;
    std::size_t n = 0;
};

std::optional<only_run> only_run_of_process() {
    const char* const given = std::getenv("COFLUX_INJECT");
    if (given == nullptr) return std::nullopt;
    const std::string_view text(given);
    const std::size_t colon = text.find(':');
    only_run only;
    bool readable = false;
    if (colon != text.npos) {
        only.name = text.substr(0, colon);
        const auto parsed = std::from_chars(text.data() + colon + 1, text.data() + text.size(), only.n);
        readable = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    }
    COFLUX_VERIFY(readable, "COFLUX_INJECT is \"%s\", and should be like \"alloc:17\"", given);
    return only;
}

/// One run: what went wrong in it that should not, and whether the injection happened.
class one_run {
public:
    one_run(const injection_points& points, std::size_t n, const injected_body& body,
            const injection_options& options) {
        const bool failed_before = test_has_failed();
        std::exception_ptr thrown;
        points.arm(run_, n);
        try {
            body(run_);
        } catch (...) {
            thrown = std::current_exception();
        }
        happened_ = run_.happened();
        points.arm(run_, 0);
        look_at(points, thrown, options);
        if (wrong_.empty() && !failed_before && test_has_failed()) wrong_ = "a check of the body failed";
        if (wrong_.empty() && options.invariant && !options.invariant()) wrong_ = "the invariant does not hold";
    }

    [[nodiscard]] bool happened() const noexcept { return happened_; }
    [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

private:
    void look_at(const injection_points& points, const std::exception_ptr& thrown, const injection_options& options) {
        if (thrown != nullptr) {
            const bool accepted =
                happened_ && (points.accepts(thrown) || (options.accepts != nullptr && options.accepts(thrown)));
            if (!accepted) wrong_ = "the body threw: " + what_of(thrown);
        } else if (!happened_) {
            if (const char* const why = points.unusable(run_)) wrong_ = why;
        }
        if (const std::string leaks = run_.memory()->leaks(); !leaks.empty())
            wrong_ += (wrong_.empty() ? "left behind: " : "; left behind: ") + leaks;
    }

    injection run_;
    bool happened_ = false;
    std::string wrong_;
};

}  // namespace

constinit const injection_points allocations{"alloc", [](injection& run, std::size_t n) { run.memory()->fail_at(n); },
                                             &is<std::bad_alloc>,
                                             [](const injection& clean) -> const char* {
                                                 return const_cast<injection&>(clean).memory()->requests() == 0
                                                            ? "the body takes no memory from run.memory()"
                                                            : nullptr;
                                             }};
constinit const injection_points fault_points{"fault", [](injection&, std::size_t n) { detail::arm_fault(n); },
                                              &is<injected_fault>,
                                              [](const injection&) -> const char* { return nullptr; }};
constinit const injection_points steps{
    "step", [](injection& run, std::size_t n) { run.arm_step(n); }, &is<task_stopped>,
    [](const injection& clean) -> const char* {
        if (clean.steps() == 0) return "nothing calls run.step(): it belongs into on_step() of the executor";
        return clean.has_action() ? nullptr : "the body names no action: run.at_step(…)";
    }};

injection_report check_injection(const injection_points& points, const injected_body& body,
                                 const injection_options& options) {
    injection_report report;
    const std::optional<only_run> only = only_run_of_process();
    if (only && only->name != points.name) return report;
    for (std::size_t n = only ? only->n : 1;; ++n) {
        const one_run run(points, n, body, options);
        if (!run.wrong().empty()) {
            const std::string which = std::string(points.name) + ':' + std::to_string(n);
            report.failure = run.happened()
                                 ? which + ": " + run.wrong() + "\n  to run only this: COFLUX_INJECT=" + which
                                 : "with nothing injected: " + run.wrong();
            return report;
        }
        if (!run.happened() || only) return report;
        ++report.points;
        if (report.points == options.most) {
            report.failure = std::string(points.name) + ": no end after " + std::to_string(n) + " points";
            return report;
        }
    }
}

std::size_t inject(const injection_points& points, const injected_body& body, const injection_options& options,
                   std::source_location where) {
    const injection_report report = check_injection(points, body, options);
    if (!report.failure.empty()) report_failure("inject: " + report.failure, where);
    return report.points;
}

}  // namespace coflux::testing

// An end of a stream job under check: coroutines use it on the check's own thread, and are stopped or run out of
// memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/core/make_environment.hpp>
#include <coflux/core/outcome.hpp>
#include <coflux/core/task.hpp>
#include <coflux/testing/conformance/detail/subject.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/testing/failing_resource.hpp>
#include <coflux/testing/manual_executor.hpp>

namespace coflux::testing::detail {

/// The end itself, of a subject that is one or has one.
template <typename S>
auto& end_of(S& subject) noexcept {
    if constexpr (requires { subject.get(); }) {
        return subject.get();
    } else {
        return subject;
    }
}
template <typename S>
using end_type = std::remove_reference_t<decltype(end_of(std::declval<S&>()))>;

/// The objects that coroutines of a check refer to; they stay for ever with one that does not end.
template <typename S, typename Notes>
struct end_room {
    template <typename Make>
    explicit end_room(Make& make) : end(make()) {}

    failing_resource memory;
    S end;
    Notes notes;
    manual_executor subject;
    decltype(make_environment(std::declval<manual_executor&>(), std::declval<std::pmr::memory_resource*>())) env =
        make_environment(subject, static_cast<std::pmr::memory_resource*>(&memory));
    std::vector<task<void, manual_executor>> beside;
};

enum class ending { returned, threw, stopped, never };

/// Runs coroutines that use an end, one after the other, and notes which law was broken.
template <typename S, typename Notes>
class end_trial {
public:
    using root = task<void, manual_executor>;

    template <typename Make>
    end_trial(const char* law, Make& make, const conformance_options& options)
        : law_(law),
          options_(options),
          room_(std::make_shared<end_room<S, Notes>>(make)) {}
    end_trial(const end_trial&) = delete;
    end_trial& operator=(const end_trial&) = delete;
    ~end_trial() { stop_beside(); }

    [[nodiscard]] S& subject() noexcept { return room_->end; }
    [[nodiscard]] end_type<S>& end() noexcept { return end_of(room_->end); }
    [[nodiscard]] Notes& notes() noexcept { return room_->notes; }
    /// The words of what the last one has thrown.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    /// Nothing can be done any more: a coroutine waits for ever.
    [[nodiscard]] bool is_lost() const noexcept { return lost_; }

    /// Runs what `make(environment)` gives to its end.
    template <typename Make>
    ending run(Make make) {
        if (lost_) return ending::never;
        return finish(make(room_->env));
    }
    /// Stops it behind so many resumptions, or where it waits.
    template <typename Make>
    ending run_stopped(Make make, std::size_t steps) {
        if (lost_) return ending::never;
        root r = make(room_->env);
        auto moved = std::chrono::steady_clock::now();
        while (steps != 0 && !r.done() && std::chrono::steady_clock::now() - moved < std::chrono::milliseconds(5)) {
            if (room_->subject.run_one()) {
                --steps;
                moved = std::chrono::steady_clock::now();
            } else {
                std::this_thread::yield();
            }
        }
        r.request_stop();
        return finish(std::move(r));
    }
    /// Its environment's `n`-th allocation fails.
    template <typename Make>
    ending run_without_memory(Make make, std::size_t n) {
        if (lost_) return ending::never;
        root r = make(room_->env);
        room_->memory.fail_at(n);
        const ending how = finish(std::move(r));
        ran_out_ = room_->memory.failures() != 0;
        room_->memory.fail_at(0);
        return how;
    }
    /// Runs beside the others, until stop_beside().
    template <typename Make>
    void start_beside(Make make) {
        if (!lost_) room_->beside.push_back(make(room_->env));
    }
    void stop_beside() {
        if (lost_ || room_->beside.empty()) return;
        for (root& each : room_->beside) each.request_stop();
        std::vector<root> all = std::exchange(room_->beside, {});
        if (!all_end(room_, all, options_.patience)) expect(false, "what runs beside the reads did not end by a stop");
        lost_ = all.empty();
        for (root& each : all) {
            try {
                each.get();
            } catch (const task_stopped&) {
                continue;
            } catch (const std::exception& e) {
                expect(false, std::string("what runs beside the reads threw: ") + e.what());
            }
        }
    }
    /// False: the last run_without_memory() had no allocation that could fail.
    [[nodiscard]] bool ran_out() const noexcept { return ran_out_; }

    /// As run(), where nothing but a return keeps the law.
    template <typename Make>
    bool must_return(const char* what, Make make) {
        return has_returned(what, run(std::move(make)));
    }
    bool has_returned(const char* what, ending how) {
        if (how == ending::threw) expect(false, std::string(what) + " threw: " + error_);
        if (how == ending::stopped) expect(false, std::string(what) + " was stopped by no stop");
        if (how == ending::never && !lost_told_) {
            expect(false, std::string(what) + " did not end");
            lost_told_ = true;
        }
        return how == ending::returned;
    }
    void expect(bool holds, const std::string& otherwise) {
        const auto is_it = [&](const violation& v) { return v.seen == otherwise; };
        if (!holds && std::ranges::none_of(found_, is_it)) found_.push_back({law_, otherwise});
    }
    [[nodiscard]] violations found() && { return std::move(found_); }

private:
    ending finish(root r) {
        std::vector<root> roots;
        roots.push_back(std::move(r));
        const bool ended = all_end(room_, roots, options_.patience);
        lost_ = roots.empty();
        if (!ended) return ending::never;
        try {
            roots.front().get();
            return ending::returned;
        } catch (const task_stopped&) {
            return ending::stopped;
        } catch (const std::exception& e) {
            error_ = e.what();
        } catch (...) {
            error_ = "what is no std::exception";
        }
        return ending::threw;
    }

    const char* law_;
    conformance_options options_;
    std::shared_ptr<end_room<S, Notes>> room_;
    std::string error_;
    bool ran_out_ = false;
    bool lost_ = false;
    bool lost_told_ = false;
    violations found_;
};

inline void add(violations& to, const violations& more) {
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace coflux::testing::detail

// A thread that is none of Seastar's, for the workloads that are driven from outside.
#pragma once

#include "reactors.hpp"

#include <seastar/core/alien.hh>

#include <exception>
#include <future>
#include <optional>
#include <thread>

namespace lab {

// Made before the reactors: a reactor that has a CPU of its own keeps its thread, and what that makes, on it.
class outside_thread {
public:
    using function = std::function<harness::measured(ss::alien::instance&)>;

    // `body` runs on the thread, once run() was called.
    explicit outside_thread(function body);
    ~outside_thread();
    outside_thread(const outside_thread&) = delete;
    outside_thread& operator=(const outside_thread&) = delete;

    // On shard 0, once: what the body returns or throws.
    [[nodiscard]] ss::future<harness::measured> run();

private:
    void drive(const function& body, ss::alien::instance& reactors);

    std::promise<ss::alien::instance*> began_;  // nullptr: run() is not called any more
    bool begun_ = false;
    ss::promise<> ended_;  // of shard 0, as is what follows; written before it is kept
    std::optional<harness::measured> result_;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace lab

#include "outside_thread.hpp"

#include <seastar/core/reactor.hh>

namespace lab {

outside_thread::outside_thread(function body) {
    thread_ = std::thread{[this, body = std::move(body), began = began_.get_future()]() mutable {
        if (ss::alien::instance* const reactors = began.get()) {
            drive(body, *reactors);
        }
    }};
}

outside_thread::~outside_thread() {
    if (!begun_) {
        began_.set_value(nullptr);
    }
    thread_.join();
}

ss::future<harness::measured> outside_thread::run() {
    begun_ = true;
    began_.set_value(&ss::engine().alien());
    co_await ended_.get_future();
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    co_return *std::move(result_);
}

void outside_thread::drive(const function& body, ss::alien::instance& reactors) {
    try {
        result_ = body(reactors);
    } catch (...) {
        failure_ = std::current_exception();
    }
    ss::alien::run_on(reactors, 0, [this]() noexcept { ended_.set_value(); });
}

}  // namespace lab

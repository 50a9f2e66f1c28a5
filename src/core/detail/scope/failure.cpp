#include <coflux/core/detail/scope/failure.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

#include "core/detail/scope/error_text.hpp"

namespace coflux {
namespace {

/// The last error that this thread threw: those that came along, and for the error of a root its location.
struct thrown {
    std::exception_ptr error;
    detail::error_chain others;
    std::vector<std::exception_ptr> list;  // of `others`, once a caller asked
    std::source_location where;
};
thread_local thrown last;

}  // namespace

std::span<const std::exception_ptr> other_errors() {
    if (last.error == nullptr || last.error != std::current_exception()) return {};
    if (last.list.empty()) last.list = last.others.list();
    return last.list;
}

namespace detail {

/// Adds to `before` the error of `item`, and what came with that.
struct error_chain::link {
    link* before;
    failure* item;
    std::size_t size;
    atomic<int> references{1};

    static std::size_t size_of(const link* l) noexcept { return l == nullptr ? 0 : l->size; }
};

error_chain::error_chain(const error_chain& other) noexcept : last_(other.last_) {
    if (last_ != nullptr) last_->references.fetch_add(1, memory_order_relaxed);  // `other` has one
}

void error_chain::add(failure& f) noexcept {
    auto* const added = new (std::nothrow) link{last_, &f, link::size_of(last_) + 1 + link::size_of(f.others_.last_)};
    COFLUX_VERIFY(added != nullptr, "out of memory while keeping several errors");
    last_ = added;
}

std::vector<std::exception_ptr> error_chain::list() const {
    std::vector<std::exception_ptr> listed(link::size_of(last_));
    // A chain, and behind the index of its last error: chains of chains are as deep as scopes are.
    std::vector<std::pair<const link*, std::size_t>> left;
    left.emplace_back(last_, listed.size());
    while (!left.empty()) {
        auto [l, end] = left.back();
        left.pop_back();
        for (; l != nullptr; l = l->before) {
            const link* const with_it = l->item->others_.last_;
            if (with_it != nullptr) left.emplace_back(with_it, end);
            end -= link::size_of(with_it) + 1;
            listed[end] = l->item->error_;
        }
    }
    return listed;
}

void error_chain::release(link* l) noexcept {
    failure* dead = nullptr;  // in a list, because a chain of chains may be deep
    for (;;) {
        // acq_rel pairs with the other releases: the thread that deletes sees all uses.
        while (l != nullptr && l->references.fetch_sub(1, memory_order_acq_rel) == 1) {
            if (l->item->is_last()) {
                l->item->next = dead;  // it is in no scope's list any more
                dead = l->item;
            }
            delete std::exchange(l, l->before);
        }
        if (dead == nullptr) return;
        failure* const f = std::exchange(dead, dead->next);
        l = std::exchange(f->others_.last_, nullptr);
        delete f;
    }
}

namespace {

/// From now on `others` came with `error` on this thread.
void throws(const std::exception_ptr& error, const error_chain& others) noexcept {
    last.list.clear();
    last.others = others;
    last.error = others.empty() ? nullptr : error;
}
/// The errors that came with one that this thread has thrown.
error_chain came_with(const std::exception_ptr& error) noexcept {
    return last.error != nullptr && last.error == error ? last.others : error_chain();
}

failure* new_failure(std::exception_ptr error, error_chain others, std::source_location where) noexcept {
    auto* const made = new (std::nothrow) failure(std::move(error), std::move(others), where);
    COFLUX_VERIFY(made != nullptr, "out of memory while keeping an exception");
    return made;
}

}  // namespace

void failure::rethrow() {
    observe();
    const std::exception_ptr error = error_;
    throws(error, others_);
    last.where = where_;
    release();
    std::rethrow_exception(error);
}

kept_error::kept_error(std::exception_ptr error) noexcept : error_(std::move(error)), others_(came_with(error_)) {}

void kept_error::rethrow() const {
    throws(error_, others_);
    std::rethrow_exception(error_);
}

std::source_location last_error_location() noexcept {
    return last.where;
}
void forget_error_location() noexcept {
    last.where = {};
}

failure* current_failure(std::source_location where) noexcept {
    std::exception_ptr error = std::current_exception();
    // An error that comes through a second coroutine brings along what came with it.
    error_chain others = came_with(error);
    return new_failure(std::move(error), std::move(others), where);
}

failure* failure_like(const failure& f) noexcept {
    return new_failure(f.error(), f.others(), f.where());
}

void joined_failures::add(failure& f) noexcept {
    if (first_ == nullptr) {
        first_ = &f;
        return;
    }
    if (std::exchange(alone_, false)) others_ = first_->others();
    f.observe();
    others_.add(f);
}

failure* joined_failures::release() noexcept {
    failure* const first = std::exchange(first_, nullptr);
    if (std::exchange(alone_, true)) return first;
    failure* const all = new_failure(first->error(), std::move(others_), first->where());
    first->observe();
    first->release();
    return all;
}

failure* join_failures(failure* first, failure* others) noexcept {
    joined_failures all;
    if (first != nullptr) all.add(*first);
    while (others != nullptr) all.add(*std::exchange(others, std::exchange(others->next, nullptr)));
    return all.release();
}

namespace {

/// False: no handler was given, and this thread has no driver that keeps it.
bool is_handled(error_handler handler, const failure& f) noexcept {
    if (handler == nullptr) return this_thread.driver != nullptr && this_thread.driver->keep_unobserved(f);
    handler(f.error());
    for (const std::exception_ptr& other : f.others().list()) handler(other);
    return true;
}

}  // namespace

void report_unobserved(error_handler handler, const failure& f) noexcept {
    if (is_handled(handler, f)) return;
    std::fprintf(stderr, "coflux: an error that was not observed\n");
    print_errors("  ", f.error(), f.others().list(), f.where());
    std::terminate();
}

void report_from_destructor(error_handler handler, std::exception_ptr error) noexcept {
    failure* const f = new_failure(std::move(error), {}, {});
    if (!is_handled(handler, *f)) print_errors("", f->error(), {}, {});
    f->release();
}

}  // namespace detail
}  // namespace coflux

// The slow paths of a coroutine's start.
#include <coflux/core/detail/promise/start.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"

namespace coflux::detail {

void promise_base::start_elsewhere(std::coroutine_handle<> h) noexcept {
    runs_on()->post(h);
}

void promise_base::count_in_atomically(frame_control& c) noexcept {
    if (scope_children::add_atomically(*parent_) == child_added::too_late) [[unlikely]] {
        const std::source_location at = c.location();
        fail(__FILE__, __LINE__, "open()",
             "%s was made in the environment of a coroutine that has ended, or in one that has been joined: by the "
             "destructor of a parameter or of a result? Those outlive the scope",
             readable_name(at.function_name()).c_str());
    }
    if (c.word.has(frame_flags::listed)) scope_children::list(*parent_, c);
}

void promise_base::count_and_start_atomically(std::coroutine_handle<> h) noexcept {
    frame_control& c = control();
    c.word.count_atomically();
    count_in_atomically(c);
    start(h);
}

void promise_base::mark_as_task() noexcept {
    if (environment_tree::is_object(*parent_) && environment_tree::owner(*parent_) == nullptr) mark(is_root);
}

namespace {

/// Names with commas between them, as far as there is room.
class name_list {
public:
    void add(const executor_entry& e) noexcept {
        if (e.key == nullptr || used_ == text_.size() - 1) return;
        const std::string_view name = type_in(e.key->name);
        const int wanted = std::snprintf(text_.data() + used_, text_.size() - used_, "%s%.*s", used_ == 0 ? "" : ", ",
                                         static_cast<int>(name.size()), name.data());
        used_ = std::min(text_.size() - 1, used_ + static_cast<std::size_t>(std::max(wanted, 0)));
    }
    [[nodiscard]] const char* text() const noexcept { return used_ == 0 ? "none" : text_.data(); }

private:
    std::array<char, 512> text_{};
    std::size_t used_ = 0;
};

}  // namespace

void fail_no_executor(const environment& in, const executor_key& wanted, std::size_t position) noexcept {
    name_list there;
    for (const environment_data* d = &data_of(in); d != nullptr; d = d->outer) {
        there.add(d->first);
        for (const executor_entry& e : d->others) there.add(e);
    }
    const std::string_view name = type_in(wanted.name);
    const int size = static_cast<int>(name.size());
    if (position == 0) {
        fail(__FILE__, __LINE__, "an executor of the type that the coroutine names",
             "the environment has no executor for %.*s; it has: %s. Give it one: %.*s x; make_environment(x)", size,
             name.data(), there.text(), size, name.data());
    }
    fail(__FILE__, __LINE__, "an executor of the type and the index that the coroutine names",
         "the environment has no executor for %.*s, index %zu counted from 0; it has: %s. Give all of them to "
         "make_environment, in order",
         size, name.data(), position, there.text());
}

}  // namespace coflux::detail

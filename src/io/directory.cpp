#include <coflux/io/directory.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/executor/blocking_pool.hpp>

#include "io/detail/file_calls.hpp"

namespace coflux::detail {

directory_batch::directory_batch() {
    entries.reserve(size / os::least_record);
}

// --- open ------------------------------------------------------------------------------------------------------------

constinit const pool_operation::steps open_directory_awaiter::does{nullptr, &open, "open the directory"};

open_directory_awaiter::open_directory_awaiter(promise_base& p, std::string& path, const directory_options& options)
    : open_directory_awaiter(p, path, *(options.pool == nullptr ? blocking_pool::shared() : *options.pool).threads_,
                             file_calls::here()) {}
open_directory_awaiter::open_directory_awaiter(promise_base& p, std::string& path, blocking_threads& threads,
                                               file_calls& by)
    : pool_operation(p, threads, nullptr, does, by.line(false)) {
    check_path(path);
    batch_ = std::make_unique<directory_batch>();
    made_ = file_handle(new file_state);
    file_state& made = *made_.state();
    made.path = std::move(path);
    made.calls = &by;
    made.threads = &threads;
}
void open_directory_awaiter::open(pool_operation& op) noexcept {
    auto& o = static_cast<open_directory_awaiter&>(op);
    file_state& made = *o.made_.state();
    const int opened = made.calls->open_directory(made.path.c_str());
    o.result_ = std::min(opened, 0);
    made.number = std::max(opened, -1);
}
directory open_directory_awaiter::await_resume() {
    done();
    if (result_ < 0) fail(made_.state()->path);
    return directory(std::move(made_), std::move(batch_));
}
io_result<directory> open_directory_awaiter::resume_with_result() {
    done();
    if (result_ < 0) return error();
    return directory(std::move(made_), std::move(batch_));
}

// --- entries ---------------------------------------------------------------------------------------------------------

constinit const pool_operation::steps next_entries_awaiter::does{nullptr, &read, "list the directory"};

next_entries_awaiter::next_entries_awaiter(promise_base& p, file_handle& on,
                                           std::unique_ptr<directory_batch>& into) noexcept
    : file_operation(p, on.get(), does),
      into_(*into) {
    COFLUX_VERIFY(of().waiting.load(memory_order_acquire) == 0,  // pairs with pool_operation::leave()
                  "next() of a directory while another one waits (%s)", of().path.c_str());
}
void next_entries_awaiter::read(pool_operation& op) noexcept {
    auto& n = static_cast<next_entries_awaiter&>(op);
    n.into_.entries.clear();
    // `.` and `..` may be all that a call gives, and an empty batch is the end.
    while (n.into_.entries.empty()) {
        n.result_ = n.calls().read_directory(n.of().number, n.into_.records.data(), directory_batch::size);
        if (n.result_ <= 0) return;
        n.add_entries(static_cast<std::size_t>(n.result_));
    }
}
void next_entries_awaiter::add_entries(std::size_t bytes) noexcept {
    for (std::size_t at = 0; at != bytes;) {
        const os::directory_record record = os::take_record(into_.records.data(), at);
        if (record.name == "." || record.name == "..") continue;
        int type = record.type;
        if (type == 0) type = std::max(calls().type_of_entry(of().number, record.name.data()), 0);
        into_.entries.push_back({record.name, static_cast<entry_type>(type)});
    }
}

// --- changes ---------------------------------------------------------------------------------------------------------

namespace {

void check_name(const std::string& name) {
    if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
        throw std::invalid_argument("coflux: a directory has no entry of the name \"" + std::string(name.c_str()) +
                                    "\": it is empty, or has a / or a zero byte");
}

}  // namespace

constinit const pool_operation::steps change_names_awaiter::renames{nullptr, &rename, "rename"};
constinit const pool_operation::steps change_names_awaiter::removes{nullptr, &remove, "remove"};

change_names_awaiter::change_names_awaiter(promise_base& p, file_handle& on, const std::string& from,
                                           const std::string& to)
    : file_change_awaiter(p, on, to.empty() ? removes : renames),
      from_(from),
      to_(to) {
    check_name(from);
    if (!to.empty()) check_name(to);
}
void change_names_awaiter::await_resume() {
    done();
    if (result_ >= 0) return;
    std::string what = of().path;
    if (!what.ends_with('/')) what += '/';
    what += from_;
    if (!to_.empty()) what += " to " + to_;
    fail(what);
}
void change_names_awaiter::rename(pool_operation& op) noexcept {
    auto& c = static_cast<change_names_awaiter&>(op);
    c.result_ = c.calls().rename_entry(c.of().number, c.from_.c_str(), c.to_.c_str());
}
void change_names_awaiter::remove(pool_operation& op) noexcept {
    auto& c = static_cast<change_names_awaiter&>(op);
    c.result_ = c.calls().remove_entry(c.of().number, c.from_.c_str());
}

}  // namespace coflux::detail

// The page docs/design/file.md has the states.
#include <coflux/io/file.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/executor/blocking_pool.hpp>

#include "io/detail/file_calls.hpp"

namespace coflux::detail {
namespace {

/// The bytes that are copied on the coroutine's own thread: some 0.1 ms.
constexpr std::size_t most_at_once = std::size_t{1} << 20;

}  // namespace

// --- the file --------------------------------------------------------------------------------------------------------

file_handle& file_handle::operator=(file_handle&& other) noexcept {
    if (this != &other) {
        drop("is assigned to");
        owned_ = std::exchange(other.owned_, nullptr);
    }
    return *this;
}

void file_handle::drop(const char* how) noexcept {
    if (owned_ == nullptr) return;
    COFLUX_VERIFY(owned_->waiting.load(memory_order_acquire) == 0,  // pairs with pool_operation::leave()
                  "a file %s while an operation of it waits (%s)", how, owned_->path.c_str());
    if (owned_->number >= 0) (void)owned_->calls->close_file(owned_->number);
    delete std::exchange(owned_, nullptr);
}

file_state& file_handle::get() const noexcept {
    COFLUX_VERIFY(owned_ != nullptr && owned_->number >= 0,
                  "an operation of a file that is closed, was moved from, or was never opened");
    return *owned_;
}

file_operation::file_operation(promise_base& p, file_state& of, const steps& does) noexcept
    : pool_operation(p, *of.threads, &of.waiting, does, of.calls->line(does.syncs)),
      of_(of) {}

// --- bytes -----------------------------------------------------------------------------------------------------------

transfer_file_awaiter::transfer_file_awaiter(promise_base& p, file_handle& on, std::uint64_t offset, void* data,
                                             std::size_t size, const steps& does) noexcept
    : file_operation(p, on.get(), does),
      data_(static_cast<std::byte*>(data)),
      size_(size) {
    offset_ = offset;
    has_offset_ = true;
}

/// False: what is left would block.
template <typename Call>
bool transfer_file_awaiter::move_at_once(atomic<bool>& waits, Call call) noexcept {
    if (size_ == 0) return true;
    if (size_ > most_at_once || waits.load(memory_order_relaxed)) return false;  // pairs with nothing: see there
    while (count_ != size_) {
        const std::ptrdiff_t moved = call(data_ + count_, size_ - count_, offset_ + count_);
        if (moved == 0) return true;
        if (moved < 0) {
            if (os::is_refused(moved)) waits.store(true, memory_order_relaxed);
            return false;  // the call that may wait tells the error
        }
        count_ += static_cast<std::size_t>(moved);
    }
    return true;
}
template <typename Call>
void transfer_file_awaiter::move_all(Call call) noexcept {
    while (count_ != size_) {
        const std::ptrdiff_t moved = call(data_ + count_, size_ - count_, offset_ + count_);
        if (moved < 0) result_ = moved;
        if (moved <= 0) return;
        // [io.file.count]
        count_ += static_cast<std::size_t>(moved);
    }
}

bool transfer_file_awaiter::read_at_once(pool_operation& op) noexcept {
    auto& t = static_cast<transfer_file_awaiter&>(op);
    const int number = t.of().number;
    return t.move_at_once(t.of().reads_wait,
                          [number, &calls = t.calls()](std::byte* to, std::size_t size, std::uint64_t offset) {
                              return calls.read_at_at_once(number, to, size, offset);
                          });
}
void transfer_file_awaiter::read_wholly(pool_operation& op) noexcept {
    auto& t = static_cast<transfer_file_awaiter&>(op);
    const int number = t.of().number;
    t.move_all([number, &calls = t.calls()](std::byte* to, std::size_t size, std::uint64_t offset) {
        return calls.read_at(number, to, size, offset);
    });
}
bool transfer_file_awaiter::write_at_once(pool_operation& op) noexcept {
    auto& t = static_cast<transfer_file_awaiter&>(op);
    const int number = t.of().number;
    return t.move_at_once(t.of().writes_wait,
                          [number, &calls = t.calls()](const std::byte* from, std::size_t size, std::uint64_t offset) {
                              return calls.write_at_at_once(number, from, size, offset);
                          });
}
void transfer_file_awaiter::write_wholly(pool_operation& op) noexcept {
    auto& t = static_cast<transfer_file_awaiter&>(op);
    const int number = t.of().number;
    t.move_all([number, &calls = t.calls()](const std::byte* from, std::size_t size, std::uint64_t offset) {
        return calls.write_at(number, from, size, offset);
    });
}
/// A part that was taken at once would be apart from the rest.
bool transfer_file_awaiter::append_at_once(pool_operation& op) noexcept {
    return static_cast<transfer_file_awaiter&>(op).size_ == 0;
}
void transfer_file_awaiter::append_wholly(pool_operation& op) noexcept {
    auto& t = static_cast<transfer_file_awaiter&>(op);
    const int number = t.of().number;
    const bool appends_anyway = t.of().appends_only;
    t.move_all([number, appends_anyway, &calls = t.calls()](const std::byte* from, std::size_t size, std::uint64_t) {
        return appends_anyway ? calls.write_at(number, from, size, 0) : calls.append(number, from, size);
    });
}

// --- from file to file -----------------------------------------------------------------------------------------------

constinit const pool_operation::steps copy_part_awaiter::does{&is_not_possible, &copy, "copy to"};

copy_part_awaiter::copy_part_awaiter(promise_base& p, file_handle& from, std::uint64_t from_at, file_handle& to,
                                     std::uint64_t to_at) noexcept
    : file_operation(p, to.get(), does),
      from_(from.get()),
      from_at_(from_at) {
    COFLUX_VERIFY(!of().appends_only, "a copy to a file that was opened with append, which has no offsets (%s)",
                  of().path.c_str());
    offset_ = to_at;
    from_.waiting.fetch_add(1, memory_order_relaxed);
}
copy_part_awaiter::~copy_part_awaiter() {
    from_.waiting.fetch_sub(1, memory_order_release);  // pairs with file_handle::drop()
}
bool copy_part_awaiter::is_not_possible(pool_operation& op) noexcept {
    const auto& c = static_cast<copy_part_awaiter&>(op);
    return c.from_.calls != c.of().calls;
}
void copy_part_awaiter::copy(pool_operation& op) noexcept {
    auto& c = static_cast<copy_part_awaiter&>(op);
    c.moved_ = c.calls().copy_part(c.from_.number, c.from_at_, c.of().number, c.offset_, most_at_once);
}

constinit const pool_operation::steps read_at_awaiter::does{&read_at_once, &read_wholly, "read from"};
constinit const pool_operation::steps write_at_awaiter::does{&write_at_once, &write_wholly, "write to"};
constinit const pool_operation::steps append_awaiter::does{&append_at_once, &append_wholly, "append to"};

write_at_awaiter::write_at_awaiter(promise_base& p, file_handle& on, std::uint64_t offset,
                                   std::span<const std::byte> from) noexcept
    : write_file_awaiter(p, on, offset, const_cast<std::byte*>(from.data()), from.size(), does) {
    COFLUX_VERIFY(!of().appends_only, "write_at() of a file that was opened with append, which has no offsets (%s)",
                  of().path.c_str());
}
append_awaiter::append_awaiter(promise_base& p, file_handle& on, std::span<const std::byte> from) noexcept
    : write_file_awaiter(p, on, 0, const_cast<std::byte*>(from.data()), from.size(), does) {
    has_offset_ = false;
}

// --- the file as a whole ---------------------------------------------------------------------------------------------

constinit const pool_operation::steps sync_file_awaiter::does{
    nullptr, [](pool_operation& op) noexcept { sync(op, false); }, "sync", true};
constinit const pool_operation::steps sync_file_awaiter::does_data{
    nullptr, [](pool_operation& op) noexcept { sync(op, true); }, "sync the data of", true};
void sync_file_awaiter::sync(pool_operation& op, bool data_only) noexcept {
    auto& s = static_cast<sync_file_awaiter&>(op);
    s.result_ = s.calls().sync_file(s.of().number, data_only);
}

constinit const pool_operation::steps truncate_file_awaiter::does{nullptr, &truncate, "truncate"};
void truncate_file_awaiter::truncate(pool_operation& op) noexcept {
    auto& t = static_cast<truncate_file_awaiter&>(op);
    t.result_ = t.calls().truncate_file(t.of().number, t.offset_);
}

constinit const pool_operation::steps file_size_awaiter::does{nullptr, &ask, "ask for the size of"};
void file_size_awaiter::ask(pool_operation& op) noexcept {
    auto& s = static_cast<file_size_awaiter&>(op);
    const std::int64_t size = s.calls().size_of_file(s.of().number);
    s.result_ = size < 0 ? static_cast<std::ptrdiff_t>(size) : 0;
    if (size >= 0) s.offset_ = static_cast<std::uint64_t>(size);
}

constinit const pool_operation::steps close_file_awaiter::does{nullptr, &close, "close"};
close_file_awaiter::close_file_awaiter(promise_base& p, file_handle& on) noexcept : file_change_awaiter(p, on, does) {
    COFLUX_VERIFY(of().waiting.load(memory_order_acquire) == 0,  // pairs with pool_operation::leave()
                  "a file is closed while an operation of it waits (%s)", of().path.c_str());
    number_ = std::exchange(of().number, -1);
}
/// It may have been stopped before it began.
close_file_awaiter::~close_file_awaiter() {
    if (number_ >= 0) of().number = number_;
}
void close_file_awaiter::close(pool_operation& op) noexcept {
    auto& c = static_cast<close_file_awaiter&>(op);
    c.result_ = c.calls().close_file(std::exchange(c.number_, -1));
}

// --- open ------------------------------------------------------------------------------------------------------------

namespace {

void check_file_options(const std::string& path, const file_options& o) {
    const char* wrong = nullptr;
    if (!o.read && !o.write) wrong = "it is neither to be read nor to be written";
    if ((o.create || o.truncate || o.append) && !o.write) wrong = "create, truncate and append need write";
    if (o.exclusive && !o.create) wrong = "exclusive needs create";
    check_path(path);  // first: the other text has the path
    if (wrong != nullptr) throw std::invalid_argument("coflux: open " + path + ": " + wrong);
}

}  // namespace

constinit const pool_operation::steps open_file_awaiter::does{nullptr, &open, "open"};

open_file_awaiter::open_file_awaiter(promise_base& p, std::string& path, const file_options& options)
    : open_file_awaiter(p, path, options, file_calls::here()) {}
open_file_awaiter::open_file_awaiter(promise_base& p, std::string& path, const file_options& options, file_calls& by)
    : pool_operation(p, *(options.pool == nullptr ? blocking_pool::shared() : *options.pool).threads_, nullptr, does,
                     by.line(false)),
      options_(options) {
    check_file_options(path, options);
    made_ = file_handle(new file_state);
    file_state& made = *made_.state();
    made.path = std::move(path);
    made.calls = &by;
    made.threads = (options.pool == nullptr ? blocking_pool::shared() : *options.pool).threads_;
    made.appends_only = options.append;
}
void open_file_awaiter::open(pool_operation& op) noexcept {
    auto& o = static_cast<open_file_awaiter&>(op);
    file_state& made = *o.made_.state();
    const file_options& how = o.options_;
    const int opened = made.calls->open_file(made.path.c_str(), {.read = how.read,
                                                                 .write = how.write,
                                                                 .create = how.create,
                                                                 .exclusive = how.exclusive,
                                                                 .truncate = how.truncate,
                                                                 .append = how.append,
                                                                 .permissions = how.permissions});
    o.result_ = std::min(opened, 0);
    made.number = opened < 0 ? -1 : opened;
}

}  // namespace coflux::detail

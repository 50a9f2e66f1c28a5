// The calls of programs on a simulated disk.
#include "disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/io/directory.hpp>

namespace coflux::testing::detail {

namespace os = coflux::detail::os;

namespace {

/// From `/` on, without `.`, `..` and a `/` at the end.
std::string whole(std::string_view path) {
    std::string text = (std::filesystem::path("/") / path).lexically_normal().generic_string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text;
}
std::string directory_of(const std::string& path) {
    const std::size_t last = path.rfind('/');
    return last == 0 ? "/" : path.substr(0, last);
}

}  // namespace

// --- a file

void disk_file::apply(std::string& to, const disk_write& w) const {
    if (w.is_size) return to.resize(static_cast<std::size_t>(w.offset), '\0');
    const auto end = static_cast<std::size_t>(w.offset) + w.bytes.size();
    if (to.size() < end) to.resize(end, '\0');
    std::memcpy(to.data() + w.offset, w.bytes.data(), w.bytes.size());
}
void disk_file::change(disk_write w) {
    apply(now, w);
    unsynced.push_back(std::move(w));
}
void disk_file::sync() {
    name_kept = true;
    for (disk_write& w : unsynced) w.synced = !w.forgotten;
    const auto first = std::find_if(unsynced.begin(), unsynced.end(), [](const disk_write& w) { return !w.synced; });
    std::for_each(unsynced.begin(), first, [this](const disk_write& w) { apply(kept, w); });
    unsynced.erase(unsynced.begin(), first);
}
void disk_file::forget() noexcept {
    for (disk_write& w : unsynced) w.forgotten = !w.synced;
}
std::size_t disk_file::at_risk() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(unsynced.begin(), unsynced.end(), [](const disk_write& w) { return !w.synced; }));
}

// --- beginning and end

disk::disk(sim_executor in, const sim_executor* of, sim_disk_options options)
    : options_(std::move(options)),
      in_(in),
      of_(of != nullptr ? of->identity() : nullptr),
      world_(&static_cast<sim_worker*>(in.identity())->in()),
      moves_(*this, options_.latency),
      syncs_(*this, options_.sync_latency),
      faults_left_(options_.faults) {
    COFLUX_VERIFY(options_.sector != 0, "a simulated disk whose sectors hold no bytes");
    COFLUX_VERIFY(options_.latency.count() >= 0 && options_.sync_latency.count() >= 0,
                  "a latency of a simulated disk that is negative");
    check_thread();
    next_ = static_cast<disk*>(world_->files());
    for (const disk* d = next_; d != nullptr; d = d->next_) {
        COFLUX_VERIFY(d->of_ != of_, "%s has a disk, and is given another one",
                      of_ != nullptr ? "an executor of a simulation" : "a simulation");
    }
    world_->attach_disk(*this, *this);
}

disk::~disk() {
    COFLUX_VERIFY(open_files() == 0, "a simulated disk ends while files are open:\n%s", dump().c_str());
    auto* youngest = static_cast<disk*>(world_->files());
    disk** at = &youngest;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
    world_->detach_disk(*this, youngest);
}

void disk::check_thread() const noexcept {
    COFLUX_VERIFY(world_->is_of_this_thread(), "a simulated disk is used by a thread other than its simulation's");
}

coflux::detail::file_calls* disk::of_running_coroutine() noexcept {
    disk* for_all = nullptr;
    for (disk* d = this; d != nullptr; d = d->next_) {
        if (d->of_ == nullptr) {
            for_all = d;
        } else if (coflux::detail::worker::of_thread_for(d->of_) != nullptr) {
            return d;
        }
    }
    return for_all;
}

disk_opened* disk::find(int descriptor) noexcept {
    check_thread();
    const auto at = open_.find(descriptor);
    return at != open_.end() ? &at->second : nullptr;
}
int disk::error_of(const disk_opened* o) noexcept {
    if (o == nullptr) return -EBADF;
    return o->lost ? -ENODEV : 0;
}
int disk::error_of_way(const std::string& path) const {
    for (std::string above = directory_of(path);; above = directory_of(above)) {
        if (files_.contains(above)) return -ENOTDIR;
        if (directories_.contains(above)) return above == directory_of(path) ? 0 : -ENOENT;
    }
}

// --- faults

int disk::ruled(disk_call on) noexcept {
    int error = 0;
    for (rule& r : rules_) {
        if (r.is.on != on) continue;
        const std::size_t call = ++r.calls;
        if (error == 0 && call >= r.is.from && call - r.is.from < r.is.times) error = -static_cast<int>(r.is.error);
    }
    return error;
}

int disk::fault(std::span<const int> errors) noexcept {
    if (errors.empty() || faults_left_ == 0) return 0;
    static constexpr std::array<std::uint64_t, 3> names{0, 1, 2};
    const std::size_t chosen = world_->choose(choice::fault, std::span(names).first(errors.size() + 1));
    if (chosen == 0) return 0;
    --faults_left_;
    return -errors[chosen - 1];
}

std::size_t disk::amount(std::size_t most) noexcept {
    if (!options_.short_moves || most < 2) return most;
    const std::array<std::size_t, 4> amounts{most, 1, most - 1, most / 2};
    static constexpr std::array<std::uint64_t, 4> names{0, 1, 2, 3};
    return amounts[world_->choose(choice::amount, std::span(names).first(std::min(most, names.size())))];
}

std::uint64_t disk::in_use() const noexcept {
    std::uint64_t n = 0;
    for (const auto& [path, file] : files_) n += file->now.size();
    return n;
}

// --- the calls

int disk::open_file(const char* path, const os::open_flags& flags) noexcept {
    check_thread();
    if (!up_) return -ENODEV;
    if (const int e = ruled(disk_call::open); e != 0) return e;
    if (*path == '\0') return -ENOENT;
    const std::string name = whole(path);
    if (directories_.contains(name)) return flags.create && flags.exclusive ? -EEXIST : -EISDIR;
    if (const int e = error_of_way(name); e != 0) return e;
    auto at = files_.find(name);
    if (at != files_.end() && flags.create && flags.exclusive) return -EEXIST;
    if (at == files_.end()) {
        if (!flags.create) return -ENOENT;
        at = files_.emplace(name, std::make_shared<disk_file>(disk_file{.path = name})).first;
    }
    disk_file& file = *at->second;
    if (flags.truncate && !file.now.empty()) file.change({.offset = 0, .is_size = true});
    ++file.open;
    open_.emplace(++last_number_, disk_opened{at->second, flags.read, flags.write, flags.append});
    return last_number_;
}

int disk::close_file(int descriptor) noexcept {
    if (listings_.erase(descriptor) != 0) return 0;
    disk_opened* const o = find(descriptor);
    COFLUX_VERIFY(o != nullptr, "a simulated descriptor %d is closed, and is not open", descriptor);
    --o->file->open;
    open_.erase(descriptor);
    return 0;
}

std::ptrdiff_t disk::read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept {
    const disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    if (!o->read) return -EBADF;
    if (const int e = ruled(disk_call::read); e != 0) return e;
    if (static_cast<std::int64_t>(offset) < 0) return -EINVAL;
    static constexpr std::array<int, 1> errors{EIO};
    if (const int e = fault(std::span(errors).first(options_.read_errors ? 1 : 0)); e != 0) return e;
    const std::string& now = o->file->now;
    if (offset >= now.size()) return 0;
    const std::size_t n = amount(std::min(size, now.size() - static_cast<std::size_t>(offset)));
    std::memcpy(into, now.data() + offset, n);
    return static_cast<std::ptrdiff_t>(n);
}
/// A read that is done at once could not be stopped, and no other coroutine could come in between.
std::ptrdiff_t disk::read_at_at_once(int, void*, std::size_t, std::uint64_t) noexcept {
    return -EAGAIN;
}
std::ptrdiff_t disk::write_at_at_once(int, const void*, std::size_t, std::uint64_t) noexcept {
    return -EAGAIN;
}

std::ptrdiff_t disk::write_at(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept {
    disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    return write(*o, {static_cast<const char*>(from), size}, o->appends ? o->file->now.size() : offset);
}
std::ptrdiff_t disk::append(int descriptor, const void* from, std::size_t size) noexcept {
    disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    return write(*o, {static_cast<const char*>(from), size}, o->file->now.size());
}
std::ptrdiff_t disk::write(disk_opened& o, std::string_view bytes, std::uint64_t offset) noexcept {
    if (!o.write) return -EBADF;
    if (const int e = ruled(disk_call::write); e != 0) return e;
    if (static_cast<std::int64_t>(offset) < 0) return -EINVAL;
    if (bytes.empty()) return 0;
    const std::array<int, 2> errors{options_.write_errors ? EIO : ENOSPC, ENOSPC};
    const std::size_t kinds = (options_.write_errors ? 1U : 0U) + (options_.runs_full ? 1U : 0U);
    if (const int e = fault(std::span(errors).first(kinds)); e != 0) return e;
    // A hole counts as what it reads like.
    const std::uint64_t used = in_use();
    const std::uint64_t room = options_.capacity > used ? options_.capacity - used : 0;
    const std::uint64_t most_size = o.file->now.size() + room;
    if (offset >= most_size) return -ENOSPC;
    const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), most_size - offset));
    const std::size_t n = amount(fits);
    o.file->change({.offset = offset, .bytes = std::string(bytes.substr(0, n))});
    return static_cast<std::ptrdiff_t>(n);
}

int disk::sync_file(int descriptor, bool) noexcept {
    if (const auto at = listings_.find(descriptor); at != listings_.end()) return sync_directory(at->second);
    const disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    int error = ruled(disk_call::sync);
    static constexpr std::array<int, 1> errors{EIO};
    if (error == 0) error = fault(std::span(errors).first(options_.sync_errors ? 1 : 0));
    if (error != 0) {
        o->file->forget();
    } else {
        o->file->sync();
    }
    return error;
}

std::int64_t disk::size_of_file(int descriptor) noexcept {
    const disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    return static_cast<std::int64_t>(o->file->now.size());
}

int disk::truncate_file(int descriptor, std::uint64_t size) noexcept {
    disk_opened* const o = find(descriptor);
    if (const int e = error_of(o); e != 0) return e;
    if (!o->write || static_cast<std::int64_t>(size) < 0) return -EINVAL;
    const std::uint64_t was = o->file->now.size();
    if (size > was && in_use() + (size - was) > options_.capacity) return -ENOSPC;
    if (size != was) o->file->change({.offset = size, .is_size = true});
    return 0;
}

// --- directories

int disk::open_directory(const char* path) noexcept {
    check_thread();
    if (!up_) return -ENODEV;
    if (const int e = ruled(disk_call::open); e != 0) return e;
    if (*path == '\0') return -ENOENT;
    const std::string name = whole(path);
    if (files_.contains(name)) return -ENOTDIR;
    if (!directories_.contains(name)) {
        const int e = error_of_way(name);
        return e != 0 ? e : -ENOENT;
    }
    constexpr auto is_directory = static_cast<unsigned char>(entry_type::directory);
    disk_listing listing{.path = name,
                         .entries = {{".", is_directory}, {"..", is_directory}}};  // as a system gives them
    const auto add = [&](const std::string& to, unsigned char type) {
        if (to != "/" && directory_of(to) == name) listing.entries.emplace_back(to.substr(to.rfind('/') + 1), type);
    };
    for (const std::string& d : directories_) add(d, is_directory);
    for (const auto& [at, file] : files_) add(at, static_cast<unsigned char>(entry_type::regular));
    listings_.emplace(++last_number_, std::move(listing));
    return last_number_;
}
std::ptrdiff_t disk::read_directory(int descriptor, void* into, std::size_t size) noexcept {
    check_thread();
    const auto at = listings_.find(descriptor);
    if (at == listings_.end()) return -EBADF;
    disk_listing& of = at->second;
    if (of.lost) return -ENODEV;
    if (const int e = ruled(disk_call::read); e != 0) return e;
    static constexpr std::array<int, 1> errors{EIO};
    if (const int e = fault(std::span(errors).first(options_.read_errors ? 1 : 0)); e != 0) return e;
    std::size_t used = 0;
    const std::size_t end = of.at + amount(of.entries.size() - of.at);
    for (; of.at != end; ++of.at) {
        const auto& [name, type] = of.entries[of.at];
        const std::size_t took = os::put_record(static_cast<std::byte*>(into) + used, size - used, {name, type});
        if (took == 0) break;
        used += took;
    }
    return static_cast<std::ptrdiff_t>(used);
}
/// read_directory() says the types.
int disk::type_of_entry(int, const char*) noexcept {
    return 0;
}

std::string disk::entry_of(int descriptor, const char* name, disk_call on, int& error) noexcept {
    check_thread();
    const auto at = listings_.find(descriptor);
    error = at == listings_.end() ? -EBADF : at->second.lost ? -ENODEV : ruled(on);
    static constexpr std::array<int, 1> errors{EIO};
    if (error == 0) error = fault(std::span(errors).first(options_.write_errors ? 1 : 0));
    if (error != 0) return {};
    const std::string entry = whole(at->second.path + "/" + name);
    if (directories_.contains(entry)) error = -EISDIR;
    return entry;
}
/// Directories keep their names.
int disk::rename_entry(int descriptor, const char* from, const char* to) noexcept {
    int error = 0;
    const std::string old = entry_of(descriptor, from, disk_call::rename, error);
    if (error != 0) return error;
    const std::string now = whole(listings_.find(descriptor)->second.path + "/" + to);
    if (directories_.contains(now)) return -EISDIR;
    const auto at = files_.find(old);
    if (at == files_.end()) return -ENOENT;
    if (old == now) return 0;
    std::shared_ptr<disk_file> file = at->second;
    files_.erase(at);
    std::shared_ptr<disk_file>& place = files_[now];
    renamings_.push_back({old, now, file, std::exchange(place, file)});
    return 0;
}
int disk::remove_entry(int descriptor, const char* name) noexcept {
    int error = 0;
    const std::string entry = entry_of(descriptor, name, disk_call::remove, error);
    if (error != 0) return error;
    const auto at = files_.find(entry);
    if (at == files_.end()) return -ENOENT;
    renamings_.push_back({entry, "", at->second, nullptr});
    files_.erase(at);
    return 0;
}
int disk::sync_directory(disk_listing& l) noexcept {
    check_thread();
    if (l.lost) return -ENODEV;
    int error = ruled(disk_call::sync);
    static constexpr std::array<int, 1> errors{EIO};
    if (error == 0) error = fault(std::span(errors).first(options_.sync_errors ? 1 : 0));
    if (error != 0) return error;
    std::erase_if(renamings_, [&](const disk_renaming& r) { return directory_of(r.from) == l.path; });
    for (const auto& [path, file] : files_) {
        if (directory_of(path) == l.path) file->name_kept = true;
    }
    return 0;
}

// --- what tests do

void disk::put(std::string_view path, std::string_view bytes) {
    const std::string name = whole(path);
    if (directories_.contains(name) || error_of_way(name) != 0)
        throw std::invalid_argument("coflux: a simulated disk has no place for a file " + name);
    auto file = std::make_shared<disk_file>(disk_file{.path = name, .name_kept = true});
    const auto at = files_.find(name);
    if (at != files_.end()) {
        COFLUX_VERIFY(at->second->open == 0, "a simulated disk is given a file that a program has open (%s)",
                      name.c_str());
    }
    file->now = file->kept = bytes;
    files_[name] = std::move(file);
}
void disk::make_directory(std::string_view path) {
    for (std::string name = whole(path); name != "/"; name = directory_of(name)) {
        if (files_.contains(name)) throw std::invalid_argument("coflux: a simulated disk has a file " + name);
        directories_.insert(name);
    }
}
std::optional<std::string> disk::contents(std::string_view path) const {
    const auto at = files_.find(whole(path));
    return at != files_.end() ? std::optional(at->second->now) : std::nullopt;
}

}  // namespace coflux::testing::detail

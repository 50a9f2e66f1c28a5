// The machinery of sim_disk; docs/design/sim_disk.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/testing/sim_disk.hpp>

#include "io/detail/file_calls.hpp"
#include "testing/world.hpp"
#include "testing/world_part.hpp"

namespace coflux::testing::detail {

/// A change of a file that is not on the drive for sure.
struct disk_write {
    std::uint64_t offset;  // of the bytes, or the new size
    std::string bytes{};
    bool is_size = false;
    bool synced = false;     // those before it are not
    bool forgotten = false;  // a sync of it failed: no other makes it durable
};

struct disk_file {
    std::string path;
    std::string now{};   // what programs read
    std::string kept{};  // what a crash leaves in any case
    std::vector<disk_write> unsynced{};
    bool name_kept = false;
    std::size_t open = 0;

    void apply(std::string& to, const disk_write& w) const;
    void change(disk_write w);
    void sync();
    void forget() noexcept;
    [[nodiscard]] std::size_t at_risk() const noexcept;
};

/// The target of a descriptor.
struct disk_opened {
    std::shared_ptr<disk_file> file;
    bool read;
    bool write;
    bool appends;
    bool lost = false;  // in a crash
};

/// A directory that is open: what was in it then.
struct disk_listing {
    std::string path;
    std::vector<std::pair<std::string, unsigned char>> entries;  // names, and DT_…
    std::size_t at = 0;                                          // the next one
    bool lost = false;                                           // in a crash
};

/// A rename or a removal that a crash may undo, until its directory is synced.
struct disk_renaming {
    std::string from;
    std::string to;  // empty: it was removed
    std::shared_ptr<disk_file> file;
    std::shared_ptr<disk_file> replaced;  // what had the name `to`
};

class disk;

/// Operations that wait, each for its event.
class disk_line final : public coflux::detail::job_line {
public:
    disk_line(disk& of, std::chrono::nanoseconds latency) noexcept;

    [[nodiscard]] bool submit(coflux::detail::blocking_job& j, coflux::detail::wait_operation& w) noexcept override;
    bool claim(coflux::detail::blocking_job& j) noexcept override;

private:
    disk& of_;
    coflux::detail::clock_tick latency_;
};

class disk final : public coflux::detail::file_calls, public world_part {
public:
    /// `of`: nullptr: of what no other disk is for.
    disk(sim_executor in, const sim_executor* of, sim_disk_options options);
    ~disk();

    // file_calls: what programs do
    int open_file(const char* path, const coflux::detail::os::open_flags& flags) noexcept override;
    int close_file(int descriptor) noexcept override;
    std::ptrdiff_t read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept override;
    std::ptrdiff_t read_at_at_once(int, void*, std::size_t, std::uint64_t) noexcept override;
    std::ptrdiff_t write_at(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept override;
    std::ptrdiff_t write_at_at_once(int, const void*, std::size_t, std::uint64_t) noexcept override;
    std::ptrdiff_t append(int descriptor, const void* from, std::size_t size) noexcept override;
    int sync_file(int descriptor, bool data_only) noexcept override;
    std::int64_t size_of_file(int descriptor) noexcept override;
    int truncate_file(int descriptor, std::uint64_t size) noexcept override;
    /// It has no holes: bytes are read and written.
    std::uint64_t copy_part(int, std::uint64_t, int, std::uint64_t, std::size_t) noexcept override { return 0; }
    int open_directory(const char* path) noexcept override;
    std::ptrdiff_t read_directory(int descriptor, void* into, std::size_t size) noexcept override;
    int type_of_entry(int descriptor, const char* name) noexcept override;
    int rename_entry(int descriptor, const char* from, const char* to) noexcept override;
    int remove_entry(int descriptor, const char* name) noexcept override;
    coflux::detail::job_line* line(bool syncs) noexcept override { return syncs ? &syncs_ : &moves_; }
    coflux::detail::file_calls* of_running_coroutine() noexcept override;

    // world_part: what happens
    bool settle() noexcept override;
    [[nodiscard]] coflux::detail::clock_tick next_event() const noexcept override;
    void add_due(std::vector<std::uint64_t>& to) const override;
    bool happen(std::uint64_t name) noexcept override;
    [[nodiscard]] std::string describe() const override;

    // of disk_line
    void add(coflux::detail::blocking_job& j, coflux::detail::clock_tick latency);
    bool take_out(coflux::detail::blocking_job& j) noexcept;

    // of sim_disk
    void put(std::string_view path, std::string_view bytes);
    void make_directory(std::string_view path);
    [[nodiscard]] std::optional<std::string> contents(std::string_view path) const;
    void crash() noexcept;
    void restart() noexcept { up_ = true; }
    [[nodiscard]] bool is_up() const noexcept { return up_; }
    void fail(const disk_fault& f) { rules_.push_back({f, 0}); }
    void set_capacity(std::uint64_t bytes) noexcept { options_.capacity = bytes; }
    [[nodiscard]] std::size_t open_files() const noexcept { return open_.size() + listings_.size(); }
    [[nodiscard]] std::string dump() const;

private:
    struct waiting {
        coflux::detail::blocking_job* job;
        std::uint64_t name;
        coflux::detail::clock_tick due;
        coflux::detail::clock_tick latency;
        bool begun;
    };
    struct rule {
        disk_fault is;
        std::size_t calls;  // that it has seen
    };
    enum class loss : std::uint8_t { none, all, each };

    void check_thread() const noexcept;
    /// nullptr: none of this disk.
    [[nodiscard]] disk_opened* find(int descriptor) noexcept;
    /// 0, or the negative error of a call on it.
    [[nodiscard]] static int error_of(const disk_opened* o) noexcept;
    /// The error of the way to it: 0, or a negative error.
    [[nodiscard]] int error_of_way(const std::string& path) const;
    /// 0, or the negative error of a rule.
    [[nodiscard]] int ruled(disk_call on) noexcept;
    /// 0, or one of `errors`, negative.
    [[nodiscard]] int fault(std::span<const int> errors) noexcept;
    [[nodiscard]] std::size_t amount(std::size_t most) noexcept;
    [[nodiscard]] std::uint64_t in_use() const noexcept;
    /// The whole name of the file `name` in the directory that is open; empty, with a negative error, where a call
    /// fails.
    [[nodiscard]] std::string entry_of(int descriptor, const char* name, disk_call on, int& error) noexcept;
    int sync_directory(disk_listing& l) noexcept;
    /// As before the youngest change of names; false: what came later is in the way.
    bool undo_renaming();
    std::ptrdiff_t write(disk_opened& o, std::string_view bytes, std::uint64_t offset) noexcept;
    [[nodiscard]] std::size_t lost_of(std::size_t candidates) noexcept;
    void lose(disk_file& of, loss how) noexcept;
    /// Adds to `to` what of `w` is kept.
    void keep_some(const disk_file& of, std::string& to, const disk_write& w) noexcept;

    sim_disk_options options_;
    sim_executor in_;  // of the world
    void* const of_;   // the identity of its executor; nullptr: of what no other disk is for
    world* const world_;
    disk* next_ = nullptr;  // of the same world
    disk_line moves_;
    disk_line syncs_;
    std::size_t faults_left_;
    std::map<std::string, std::shared_ptr<disk_file>> files_;
    std::set<std::string> directories_{"/"};
    std::vector<disk_renaming> renamings_;  // in their order; those whose directories are not synced
    std::map<int, disk_opened> open_;
    std::map<int, disk_listing> listings_;
    int last_number_ = (1 << 30) + (1 << 29);  // no system has as many descriptors, nor a simulated network
    std::vector<rule> rules_;
    std::vector<waiting> line_;
    std::vector<coflux::detail::wait_operation*> done_;  // to be woken, in settle()
    bool up_ = true;
};

}  // namespace coflux::testing::detail

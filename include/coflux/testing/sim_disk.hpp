// A disk in a simulation: the files of code under test, with the faults and the crashes of real ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux::testing {

namespace detail {
class disk;
}  // namespace detail

/// The behaviour of a simulated disk, and the faults that its chooser may choose.
struct sim_disk_options {
    std::string name = "disk";  ///< for dump()
    /// From the begin of an operation to its end. One that has begun is not given up by a stop.
    std::chrono::nanoseconds latency{0};
    std::chrono::nanoseconds sync_latency{0};  ///< of sync() and sync_data(), in place of `latency`
    /// A crash keeps or loses it as a whole.
    std::size_t sector = 512;
    /// The room of all files together; beyond it a write fails with no_space_on_device.
    std::uint64_t capacity = std::uint64_t{256} << 20;
    /// The chooser is asked how many bytes a call moves (choice::amount). An operation calls until all are moved, so
    /// this shows where a later call of it fails.
    bool short_moves = false;
    /// How many faults the chooser may make in a run (choice::fault): of each of the kinds that follow.
    std::size_t faults = 0;
    bool read_errors = true;   ///< a read fails with io_error
    bool write_errors = true;  ///< a write, a rename or a removal fails with io_error
    bool sync_errors = true;   ///< a sync fails with io_error; what it should have kept, no later one keeps
    bool runs_full = true;     ///< a write fails with no_space_on_device
};

/// The calls that a rule of a simulated disk can be for.
enum class disk_call : std::uint8_t { open, read, write, sync, rename, remove };

/// A fault that happens in each run: "the third write from now on fails".
struct disk_fault {
    disk_call on;
    std::size_t from = 1;   ///< the first call that fails, of those that are made from now on
    std::size_t times = 1;  ///< how many fail
    std::errc error = std::errc::io_error;
};

/// While it lives, each `file` and `directory` that coroutines of its executor open is one of this disk, and no system
/// call is made for it. The code that uses it is unchanged.
///
/// Each operation is an event of its own: the chooser decides which operation or which coroutine is next
/// (choice::next), and what fails (choice::fault). 0 is the disk on a good day. Bytes that were written and not
/// synced may be lost in crash(): as a whole, in part, at sectors, and in any order. A new file is one that a crash may
/// lose until it is synced itself; its directory need not be. Renames and removals may be undone, the youngest first,
/// until their directory is synced.
///
///     simulation sim(decides);
///     sim_executor on;
///     sim_disk disk(on);
///     auto env = make_environment(on);
///
/// A path that does not begin with `/` is one from `/` on. There are no directories but those that make_directory()
/// makes, and `/`. std::filesystem, and all else but `file` and `directory`, sees the system's files.
///
/// Errors: as from the system: no_such_file_or_directory, file_exists, is_a_directory, not_a_directory,
/// bad_file_descriptor, no_space_on_device, io_error. A deadlock_error and a livelock_error end with dump(). A disk
/// that ends while a file of it is open, a second disk for one executor, a use by another thread, sectors of no bytes,
/// and a negative latency are checked errors.
/// Threads: the one of its simulation.
/// Costs: a copy of what is written and not synced, and a few allocations for each operation.
/// Lifetime: its simulation outlives it, and it outlives the files that were opened meanwhile.
/// Example: examples/49_sim_disk.cpp
class sim_disk {
public:
    /// The disk of coroutines on an executor that has none of its own.
    /// Pre: there is a simulation: the youngest of this thread.
    explicit sim_disk(sim_disk_options options = {});
    /// The disk of coroutines on `of`; on the executor of a sim_host, that of its machine.
    explicit sim_disk(sim_executor of, sim_disk_options options = {});
    sim_disk(const sim_disk&) = delete;
    sim_disk& operator=(const sim_disk&) = delete;
    ~sim_disk();

    /// Files that are there before the program runs: they, and their names, are kept in any case.
    /// Errors: std::invalid_argument if its directory is missing, or it is one.
    void put(std::string_view path, std::string_view bytes);
    /// With those that it is in.
    /// Errors: std::invalid_argument where a file is in the way.
    void make_directory(std::string_view path);
    /// The bytes that programs would read; none if there is no such file.
    [[nodiscard]] std::optional<std::string> contents(std::string_view path) const;

    /// The power goes: of what is not synced the chooser takes what it wants (choice::fault, 0: all is kept). Files
    /// that are open are lost, and each operation of them, begun or not, fails with no_such_device; so does open()
    /// until restart(). Coroutines live on: stop their environment beside.
    void crash() noexcept;
    /// Files can be opened again, as the crash has left them.
    void restart() noexcept;
    [[nodiscard]] bool is_up() const noexcept;

    /// Beside the faults that the chooser makes. A call is one of the system, of which an operation may make several.
    void fail(const disk_fault& f);
    /// Less than what is in use leaves all as it is, and no room.
    void set_capacity(std::uint64_t bytes) noexcept;

    /// Directories, too.
    [[nodiscard]] std::size_t open_files() const noexcept;
    /// A line for each file: its size, what a crash could take, how often it is open, and how many operations are in
    /// the line of the disk.
    [[nodiscard]] std::string dump() const;

private:
    std::unique_ptr<detail::disk> disk_;
};

}  // namespace coflux::testing

// rocksdb::database: states of a stream job that do not fit into memory, and the job's checkpoints.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/rocksdb/detail/stored_panes.hpp>
#include <coflux/rocksdb/detail/stored_states.hpp>
#include <coflux/stream/checkpoint.hpp>

namespace coflux {
class blocking_pool;

namespace rocksdb {

/// How a database keeps states.
struct database_options {
    /// States that stay in memory, of all tables. Those that have changed since the last commit come on top.
    std::size_t cached_keys = 1'000'000;
    std::size_t block_cache = std::size_t{64} << 20;  ///< bytes of blocks of files, of indexes and of filters
    std::size_t write_buffer = std::size_t{64}
                               << 20;  ///< bytes of what is in the log and in no file yet; two at a time
    blocking_pool* pool = nullptr;     ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// A table of a database: `stream::fold<total, total>(add, state.table("totals"))`, or
/// `stream::window(stream::tumbling(1min), stream::count(), state.table("minutes"))`.
class table {
public:
    /// The fold's.
    template <typename Key, typename State>
    [[nodiscard]] detail::stored_states<Key, State> make() const {
        static_assert(stream::storable<Key>,
                      "coflux: a table of a database is read by its keys' bytes: give the key of by_key() a member "
                      "template <typename A> void fields(A& all) { all(a, b); }, or specialise stream::codec");
        return detail::stored_states<Key, State>(of_, name_);
    }

    /// The window()'s.
    template <typename Key, typename State>
    [[nodiscard]] detail::stored_panes<Key, State> make_panes() const {
        static_assert(stream::storable<Key>,
                      "coflux: a table of a database is read by its keys' bytes: give the key of by_key() a member "
                      "template <typename A> void fields(A& all) { all(a, b); }, or specialise stream::codec");
        return detail::stored_panes<Key, State>(of_, name_);
    }

private:
    friend class database;
    table(std::shared_ptr<detail::database_files> of, std::string name) : of_(std::move(of)), name_(std::move(name)) {}

    std::shared_ptr<detail::database_files> of_;
    std::string name_;
};

/// A RocksDB database in a folder, which has the states of a job's folds, whatever their size:
///
///     rocksdb::database state("/var/lib/orders", "orders");
///     co_await stream::run(here, from(orders) | by_key(&order::customer) |
///                              fold<total, total>(add, state.table("totals")) | to(sink), stream::job{.state = state});
///
/// A commit is one write: what has changed since the last one, and the positions that it is complete up to. After a
/// crash both are there, or neither is. A restart reads the positions, and a state when its key comes. States of
/// stages that are in memory, as of a join(), are stored as a whole where they have changed.
///
/// It keeps two checkpoints for a job that is exactly once: the changes of the last one are apart, until the next
/// comes. At least once it keeps the last one alone.
///
/// Shapes: a handle; copies are the same database. The folder belongs to one job, and to one process at a time.
/// Errors: corrupt_state, with the folder, for files that are torn or changed, a database of another job or a newer
/// version, a folder with files of others, and a table that is not the one which the flow names. std::system_error,
/// with the folder: no such folder, no permission, no space, a folder that another process has opened. A store that
/// fails loses nothing that was stored: the next load() goes on from there. The folder is not made: one that is missing
/// is such an error, and no first run. A database that has states is corrupt_state for an exactly_once job whose sink
/// has committed nothing.
/// Stops: what has begun is waited for. A store that is stopped has stored the checkpoint or not.
/// Threads: one coroutine at a time; its tables are those of the job's workers.
/// Costs: a batch waits on its worker for the states that are not in memory, once, on a thread of the pool; no record
/// waits. A commit writes the keys that have changed, and syncs once; where two checkpoints are kept it writes them
/// twice, and what has changed between the last two is in memory. RocksDB's own threads write its files.
/// Lifetime: the pool outlives it. The last handle that dies closes the database, which may block; close() does not.
class database {
public:
    static constexpr bool has_tables = true;

    database(std::string folder, std::string job, database_options options = {});

    /// Where a fold keeps its states. Two folds of a flow have two names.
    ///
    /// Errors: std::invalid_argument for a name that is empty or has a zero byte.
    [[nodiscard]] rocksdb::table table(std::string name) const;

    [[nodiscard("nothing is stored until this is awaited: co_await it")]] call<void> store(environment& here,
                                                                                           const stream::checkpoint& c);
    [[nodiscard("nothing is loaded until this is awaited: co_await it")]] call<std::optional<stream::checkpoint>>
    load(environment& here, const stream::positions* wanted);

    /// The engine says before load() whether the last checkpoint alone is enough. Before that it is not.
    void keep_two(bool two);

    /// Closes it when the job has ended. The next load() opens it again.
    call<void> close(environment& here);

private:
    std::shared_ptr<detail::database_files> files_;
};
static_assert(stream::state_store<database>);

}  // namespace rocksdb
}  // namespace coflux

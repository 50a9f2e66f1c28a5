// The page docs/design/checkpoints.md has the protocol.
#include "rocksdb/files.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <coflux/stream/detail/checksum.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::rocksdb::detail {
namespace {

namespace rocks = ::rocksdb;
using stream::corrupt_state;

// Keys begin with one of these: the head, the states of stages in memory, the tables.
constexpr const char* head_key = "h";
constexpr char state_key = 's';
constexpr char table_key = 't';

rocks::Slice slice_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}
void append(std::string& to, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 0xff);
}
std::string key_of_state(std::uint32_t region, std::uint32_t slot) {
    std::string key(1, state_key);
    append(key, region);
    append(key, slot);
    return key;
}
// Each key of a table begins with its name and the slot, so that a slot is a range.
std::string prefix_of(const std::string& table, std::uint32_t slot) {
    std::string key = table_key + table;
    key += '\0';
    append(key, slot);
    return key;
}

}  // namespace

void database_files::fail(const rocks::Status& why) const {
    const std::string text = "coflux: the database " + folder_ + ": " + why.ToString();
    if (why.IsNoSpace()) throw std::system_error(std::make_error_code(std::errc::no_space_on_device), text);
    if (!why.IsIOError() && !why.IsBusy() && !why.IsTryAgain()) throw corrupt_state(text);
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    if (has("lock file") || has("lock hold")) {
        throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                                text + ": it is open elsewhere");
    }
    throw std::system_error(
        std::make_error_code(has("Permission denied") ? std::errc::permission_denied : std::errc::io_error), text);
}

// A first run that was killed may have left what RocksDB makes before a database is one.
bool database_files::is_new() const {
    namespace fs = std::filesystem;
    bool found = false;
    for (const fs::directory_entry& each : fs::directory_iterator(folder_)) {
        const std::string name = each.path().filename().string();
        if (name == "CURRENT") return false;
        const auto begins = [&](std::string_view with) { return name.starts_with(with); };
        found = found || !(begins("LOCK") || begins("LOG") || begins("IDENTITY") || begins("MANIFEST-") ||
                           begins("OPTIONS-") || name.ends_with(".dbtmp"));
    }
    if (found) throw corrupt_state("coflux: the folder " + folder_ + " has files, and they are no database");
    return true;
}

void database_files::open() {
    db_.reset();
    rocks::Options o;
    o.create_if_missing = is_new();
    // A crash cuts the last write off, which nobody was told of. Each other damage is an error, and no older state.
    o.wal_recovery_mode = rocks::WALRecoveryMode::kTolerateCorruptedTailRecords;
    o.write_buffer_size = options_.write_buffer;
    o.max_open_files = 500;  // a process may have 1024 files
    o.keep_log_file_num = 2;
    rocks::BlockBasedTableOptions t;
    t.block_cache = rocks::NewLRUCache(options_.block_cache);
    t.filter_policy.reset(rocks::NewBloomFilterPolicy(10));  // a new key is not looked for in the files
    t.cache_index_and_filter_blocks = true;                  // the cache's size is a bound for them, too
    o.table_factory.reset(rocks::NewBlockBasedTableFactory(t));
    rocks::DB* opened = nullptr;
    check(rocks::DB::Open(o, folder_, &opened));
    db_.reset(opened);
}

std::optional<std::string> database_files::get(const std::string& key) const {
    std::string value;
    const rocks::Status s = db_->Get(rocks::ReadOptions(), key, &value);
    if (s.IsNotFound()) return std::nullopt;
    check(s);
    return value;
}

std::optional<stream::checkpoint> database_files::load(const stream::positions* wanted) {
    {
        const std::lock_guard lock(mutex_);
        changes_.clear();  // of a run that has not committed them
    }
    number_ = 0;
    last_.clear();
    open();
    const auto found = get(head_key);
    if (!found) {
        const std::unique_ptr<rocks::Iterator> all(db_->NewIterator(rocks::ReadOptions()));
        all->SeekToFirst();
        check(all->status());
        if (all->Valid()) throw corrupt_state("coflux: the database " + folder_ + " is not that of a job");
        return std::nullopt;
    }
    const auto size = stream::detail::size_of_head(
        bytes_of(*found).first(std::min(found->size(), stream::detail::checkpoint_prefix)), found->size(), folder_);
    const auto head = stream::detail::read_head(bytes_of(*found).first(size), folder_);
    if (head.job != job_)
        throw corrupt_state("coflux: the database " + folder_ + " is of the job \"" + head.job + "\"; this job is \"" +
                            job_ + "\"");
    number_ = head.number;
    stream::checkpoint c{head.slots, head.at, {}};
    for (const stream::detail::stored_state& s : head.states) {
        const auto value = get(key_of_state(s.region, s.slot));
        if (!value || stream::detail::checksum(bytes_of(*value)) != s.sum)
            throw corrupt_state("coflux: the database " + folder_ + ": the state of slot " + std::to_string(s.slot) +
                                " of region " + std::to_string(s.region) + " is not the one that was stored");
        const auto bytes = bytes_of(*value);
        c.states.push_back({s.region, s.slot, {bytes.begin(), bytes.end()}});
        last_[{s.region, s.slot}] = s;
    }
    if (wanted != nullptr && head.at != *wanted) return std::nullopt;
    return c;
}

// One batch: after a crash all of it is there, or nothing.
void database_files::store(const stream::checkpoint& c) {
    if (db_ == nullptr) throw std::logic_error("coflux: the database " + folder_ + " stores before it has loaded");
    std::vector<changed> changes;
    {
        const std::lock_guard lock(mutex_);
        changes.swap(changes_);
    }
    rocks::WriteBatch batch;
    for (changed& each : changes) {
        std::span<const std::byte> left = each.all.bytes;
        std::vector<std::pair<rocks::Slice, rocks::Slice>> sorted;
        sorted.reserve(each.all.sizes.size());
        for (const auto& [key, value] : each.all.sizes) {
            sorted.emplace_back(slice_of(left.first(key)), slice_of(left.subspan(key, value)));
            left = left.subspan(key + value);
        }
        // RocksDB's list of what is in no file yet takes keys in order in less time.
        std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.first.compare(b.first) < 0; });
        for (const auto& [key, value] : sorted) check(batch.Put(key, value));
        each.all = {};  // the batch has a copy
    }
    stream::detail::checkpoint_head head{job_, number_ + 1, c.slots, c.at, {}};
    for (const stream::slot_state& s : c.states) {
        stream::detail::stored_state now{s.region, s.slot, head.number, s.bytes.size(),
                                         stream::detail::checksum(s.bytes)};
        const auto before = last_.find({s.region, s.slot});
        if (before != last_.end() && before->second.size == now.size && before->second.sum == now.sum) {
            now.file = before->second.file;
        } else {
            check(batch.Put(key_of_state(s.region, s.slot), slice_of(s.bytes)));
        }
        head.states.push_back(now);
    }
    check(batch.Put(head_key, slice_of(stream::detail::written_head(head))));
    rocks::WriteOptions durable;
    durable.sync = true;
    check(db_->Write(durable, &batch));
    number_ = head.number;
    for (const auto& s : head.states) last_[{s.region, s.slot}] = s;
    for (const changed& each : changes) each.written->fetch_add(1, std::memory_order_release);
}

void database_files::read(const std::string& table, const std::vector<std::string>& keys,
                          const std::function<void(std::size_t, std::span<const std::byte>)>& found) const {
    const std::vector<rocks::Slice> wanted(keys.begin(), keys.end());
    std::vector<rocks::PinnableSlice> values(keys.size());
    std::vector<rocks::Status> results(keys.size());
    db_->MultiGet(rocks::ReadOptions(), db_->DefaultColumnFamily(), keys.size(), wanted.data(), values.data(),
                  results.data());
    for (std::size_t i = 0; i != keys.size(); ++i) {
        if (results[i].IsNotFound()) continue;
        check(results[i]);
        try {
            found(i, std::as_bytes(std::span(values[i].data(), values[i].size())));
        } catch (const corrupt_state& e) {
            throw corrupt_state("coflux: the database " + folder_ + ", table \"" + table + "\": " + e.what());
        }
    }
}

void database_files::add_slot(const std::string& table, std::uint32_t slot) {
    if (db_ == nullptr)
        throw std::invalid_argument("coflux: the table \"" + table + "\" is of the database " + folder_ +
                                    ", which is not the .state of the job");
    const std::lock_guard lock(mutex_);
    if (!used_.emplace(table, slot).second)
        throw std::invalid_argument("coflux: two folds have the table \"" + table + "\" of the database " + folder_);
    slots_.store(used_.size(), std::memory_order_relaxed);
}
void database_files::remove_slot(const std::string& table, std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    used_.erase({table, slot});
    slots_.store(used_.size(), std::memory_order_relaxed);
}
void database_files::change(pairs all, std::shared_ptr<std::atomic<std::uint64_t>> written) {
    const std::lock_guard lock(mutex_);
    for (const changed& each : changes_) {
        if (each.written == written)
            throw std::invalid_argument("coflux: the database " + folder_ + " is not the .state of the job");
    }
    changes_.push_back({std::move(all), std::move(written)});
}

slot_files::slot_files(std::shared_ptr<database_files> of, std::string table)
    : of_(std::move(of)),
      table_(std::move(table)) {}
slot_files::~slot_files() {
    if (is_named()) of_->remove_slot(table_, slot_);
}
void slot_files::name(std::uint32_t slot) {
    of_->add_slot(table_, slot);
    slot_ = slot;
    const std::string prefix = prefix_of(table_, slot);
    prefix_.assign(bytes_of(prefix).begin(), bytes_of(prefix).end());
}
std::size_t slot_files::cached_keys() const noexcept {
    return of_->cached_keys_of_slot();
}
blocking_pool& slot_files::pool() const noexcept {
    return of_->pool();
}
void slot_files::read(const std::vector<std::string>& keys,
                      const std::function<void(std::size_t, std::span<const std::byte>)>& found) {
    of_->read(table_, keys, found);
}
void slot_files::change(pairs all) {
    of_->change(std::move(all), written_);
}

}  // namespace coflux::rocksdb::detail

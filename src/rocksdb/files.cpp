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

#include <coflux/stream/detail/checksum.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::rocksdb::detail {
namespace {

namespace rocks = ::rocksdb;
using stream::corrupt_state;
using stream::detail::checkpoint_head;

// Keys begin with one of these: the head, the changes of a checkpoint that are not in the tables, the states of stages
// in memory, the tables.
constexpr const char* head_key = "h";
constexpr const char* apart_key = "p";
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

// The first key behind all that begin with `prefix`, whose first byte is a letter.
std::string end_of_prefix(std::span<const std::byte> prefix) {
    std::string end = slice_of(prefix).ToString();
    while (end.back() == '\xff') end.pop_back();
    ++end.back();
    return end;
}

/// The head, and the states of stages in memory, of a batch of changes.
struct small_values final : rocks::WriteBatch::Handler {
    std::map<std::string, std::string> all;

    rocks::Status PutCF(std::uint32_t, const rocks::Slice& key, const rocks::Slice& value) override {
        if (key[0] != table_key) all[key.ToString()] = value.ToString();
        return rocks::Status::OK();
    }
    rocks::Status DeleteCF(std::uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
    rocks::Status DeleteRangeCF(std::uint32_t, const rocks::Slice&, const rocks::Slice&) override {
        return rocks::Status::OK();
    }
};

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

stream::detail::checkpoint_head database_files::head_of(const std::string& bytes) const {
    const auto size = stream::detail::size_of_head(
        bytes_of(bytes).first(std::min(bytes.size(), stream::detail::checkpoint_prefix)), bytes.size(), folder_);
    auto head = stream::detail::read_head(bytes_of(bytes).first(size), folder_);
    if (head.job != job_)
        throw corrupt_state("coflux: the database " + folder_ + " is of the job \"" + head.job + "\"; this job is \"" +
                            job_ + "\"");
    return head;
}

std::optional<stream::checkpoint> database_files::load(const stream::positions* wanted) {
    {
        const std::lock_guard lock(mutex_);
        changes_.clear();  // of a run that has not committed them
    }
    number_ = 0;
    last_.clear();
    last_apart_.reset();
    must_join_.store(false, std::memory_order_relaxed);
    open();
    std::optional<checkpoint_head> base;
    if (const auto found = get(head_key)) base = head_of(*found);
    std::optional<checkpoint_head> head = base;
    apart newest;
    small_values of_newest;
    if (const auto found = get(apart_key)) {
        newest.changes = rocks::WriteBatch(*found);
        check(newest.changes.Iterate(&of_newest));
        head = head_of(of_newest.all[head_key]);
    }
    if (!head) {
        const std::unique_ptr<rocks::Iterator> all(db_->NewIterator(rocks::ReadOptions()));
        all->SeekToFirst();
        check(all->status());
        if (all->Valid()) throw corrupt_state("coflux: the database " + folder_ + " is not that of a job");
        return std::nullopt;
    }
    number_ = head->number;
    bool is_apart = !of_newest.all.empty();
    if (wanted != nullptr && head->at != *wanted) {
        if (!is_apart || !base || base->at != *wanted) {
            if (base && wanted->empty())
                throw corrupt_state("coflux: the database " + folder_ +
                                    " has states, and the sink of the job has committed nothing: to begin anew, "
                                    "remove what is in the folder");
            return std::nullopt;
        }
        head = base;
        is_apart = false;
    }
    stream::checkpoint c{head->slots, head->at, {}};
    for (const stream::detail::stored_state& s : head->states) {
        const std::string key = key_of_state(s.region, s.slot);
        const auto in_newest = is_apart ? of_newest.all.find(key) : of_newest.all.end();
        const auto value = in_newest != of_newest.all.end() ? in_newest->second : get(key);
        if (!value || stream::detail::checksum(bytes_of(*value)) != s.sum)
            throw corrupt_state("coflux: the database " + folder_ + ": the state of slot " + std::to_string(s.slot) +
                                " of region " + std::to_string(s.region) + " is not the one that was stored");
        const auto bytes = bytes_of(*value);
        c.states.push_back({s.region, s.slot, {bytes.begin(), bytes.end()}});
        last_[{s.region, s.slot}] = s;
    }
    if (is_apart) {
        last_apart_ = std::move(newest);
        must_join_.store(true, std::memory_order_release);
    }
    return c;
}

// The changes of the checkpoint that was loaded go into the tables. Not before they are read, or another one is stored:
// a load changes nothing.
void database_files::join_tables() {
    if (!must_join_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(join_);
    if (!must_join_.load(std::memory_order_relaxed)) return;
    check(last_apart_->changes.Delete(apart_key));
    check(
        db_->Write(rocks::WriteOptions(), &last_apart_->changes));  // lost as a whole, or not: the next load repeats it
    last_apart_.reset();
    must_join_.store(false, std::memory_order_release);
}

// The changes of the database by a checkpoint.
rocks::WriteBatch database_files::changes_of(const stream::checkpoint& c, std::vector<counter>& written) {
    std::vector<changed> changes;
    {
        const std::lock_guard lock(mutex_);
        changes.swap(changes_);
    }
    rocks::WriteBatch batch;
    for (changed& each : changes) {
        struct change {
            rocks::Slice key;
            rocks::Slice value;
            std::size_t size;
        };
        std::span<const std::byte> left = each.all.bytes;
        std::vector<change> sorted;
        sorted.reserve(each.all.sizes.size());
        for (const auto& [key, value] : each.all.sizes) {
            change& added = sorted.emplace_back(slice_of(left.first(key)), rocks::Slice(), value);
            left = left.subspan(key);
            if (value == pairs::gone || value == pairs::gone_range) continue;
            added.value = slice_of(left.first(value));
            left = left.subspan(value);
        }
        // RocksDB's list of what is in no file yet takes keys in order in less time.
        std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.key.compare(b.key) < 0; });
        for (const change& of_key : sorted) {
            if (of_key.size == pairs::gone) {
                check(batch.Delete(of_key.key));
            } else if (of_key.size == pairs::gone_range) {
                check(batch.DeleteRange(of_key.key, end_of_prefix(bytes_of(of_key.key.ToString()))));
            } else {
                check(batch.Put(of_key.key, of_key.value));
            }
        }
        each.all = {};  // the batch has a copy
        written.push_back(std::move(each.written));
    }
    checkpoint_head head{job_, number_ + 1, c.slots, c.at, {}};
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
    number_ = head.number;
    for (const auto& s : head.states) last_[{s.region, s.slot}] = s;
    return batch;
}

// One batch: after a crash all of it is there, or nothing. Where two checkpoints are kept, it brings the changes of the
// one before into the tables, and has those of this one as one value.
void database_files::store(const stream::checkpoint& c) {
    if (db_ == nullptr) throw std::logic_error("coflux: the database " + folder_ + " stores before it has loaded");
    join_tables();
    apart now;
    now.changes = changes_of(c, now.written);
    rocks::WriteBatch all;
    std::vector<counter> written;
    if (keeps_two_) {
        if (last_apart_) {
            all = std::move(last_apart_->changes);
            written = std::move(last_apart_->written);
        }
        check(all.Put(apart_key, now.changes.Data()));
        last_apart_ = std::move(now);
    } else {
        all = std::move(now.changes);
        written = std::move(now.written);
        check(all.Delete(apart_key));
    }
    rocks::WriteOptions durable;
    durable.sync = true;
    check(db_->Write(durable, &all));
    for (const counter& each : written) each->fetch_add(1, std::memory_order_release);
}

void database_files::read(const std::string& table, const std::vector<std::string>& keys,
                          const std::function<void(std::size_t, std::span<const std::byte>)>& found) {
    join_tables();
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

void database_files::scan(const std::string& table, std::span<const std::byte> prefix,
                          const std::function<void(std::span<const std::byte>, std::span<const std::byte>)>& found) {
    join_tables();
    const std::string end = end_of_prefix(prefix);
    const rocks::Slice bound(end);
    rocks::ReadOptions o;
    o.iterate_upper_bound = &bound;
    const std::unique_ptr<rocks::Iterator> each(db_->NewIterator(o));
    for (each->Seek(slice_of(prefix)); each->Valid(); each->Next()) {
        const auto key = std::as_bytes(std::span(each->key().data(), each->key().size()));
        try {
            found(key.subspan(prefix.size()), std::as_bytes(std::span(each->value().data(), each->value().size())));
        } catch (const corrupt_state& e) {
            throw corrupt_state("coflux: the database " + folder_ + ", table \"" + table + "\": " + e.what());
        }
    }
    check(each->status());
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
void slot_files::scan(std::span<const std::byte> prefix,
                      const std::function<void(std::span<const std::byte>, std::span<const std::byte>)>& found) {
    of_->scan(table_, prefix, found);
}
void slot_files::change(pairs all) {
    of_->change(std::move(all), written_);
}

}  // namespace coflux::rocksdb::detail

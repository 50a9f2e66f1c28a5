// The events of a simulated disk: its operations, and its crash.
#include <algorithm>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

#include "disk.hpp"

namespace coflux::testing::detail {

using coflux::detail::blocking_job;
using coflux::detail::clock_tick;
using coflux::detail::timing_wheel;
using coflux::detail::wait_operation;

namespace {

/// Candidates for what is lost of a write: nothing, all, so many first cuts and so many last ones, its middle.
constexpr std::size_t most_cuts = 7;
/// How many of the youngest renames and removals a crash undoes, at most, where it undoes some.
constexpr std::size_t most_undone = 16;

}  // namespace

// --- operations

disk_line::disk_line(disk& of, std::chrono::nanoseconds latency) noexcept
    : of_(of),
      latency_(static_cast<clock_tick>(std::max(latency, std::chrono::nanoseconds(0)).count())) {}

bool disk_line::submit(blocking_job& j, wait_operation& w) noexcept {
    if (w.must_stop()) return false;
    of_.add(j, latency_);
    return true;
}
bool disk_line::claim(blocking_job& j) noexcept {
    return of_.take_out(j);
}

void disk::add(blocking_job& j, clock_tick latency) {
    COFLUX_VERIFY(world_->is_of_this_thread() && world_->runs_what_runs(),
                  "a coroutine waits for a simulated disk on an executor that is not of its simulation");
    line_.push_back({&j, world_->new_name(), world_->now(), latency, false});
}
bool disk::take_out(blocking_job& j) noexcept {
    return std::erase_if(line_, [&j](const waiting& w) { return w.job == &j && !w.begun; }) != 0;
}

bool disk::settle() noexcept {
    if (done_.empty()) return false;
    const coflux::detail::resumption_pause pause;
    for (wait_operation* const w : std::exchange(done_, {})) w->wake();
    return true;
}
clock_tick disk::next_event() const noexcept {
    clock_tick next = timing_wheel::never;
    for (const waiting& w : line_) next = std::min(next, w.due);
    return next;
}
void disk::add_due(std::vector<std::uint64_t>& to) const {
    for (const waiting& w : line_) {
        if (w.due <= world_->now()) to.push_back(w.name);
    }
}
bool disk::happen(std::uint64_t name) noexcept {
    const auto at = std::find_if(line_.begin(), line_.end(), [name](const waiting& w) { return w.name == name; });
    if (at == line_.end()) return false;
    if (!std::exchange(at->begun, true) && at->latency != 0) {
        at->due = world_->now() + at->latency;
        return true;
    }
    blocking_job& j = *at->job;
    line_.erase(at);
    (void)j.kind->run(j);
    done_.push_back(j.waiter);
    return true;
}

// --- a crash

std::size_t disk::lost_of(std::size_t candidates) noexcept {
    static constexpr std::array<std::uint64_t, 3 + 2 * most_cuts> names{0, 1,  2,  3,  4,  5,  6,  7, 8,
                                                                        9, 10, 11, 12, 13, 14, 15, 16};
    return world_->choose(choice::fault, std::span(names).first(candidates));
}

void disk::keep_some(const disk_file& of, std::string& to, const disk_write& w) noexcept {
    const std::uint64_t sector = options_.sector;
    const std::uint64_t first = w.offset / sector;
    const std::uint64_t end = w.offset + w.bytes.size();
    const auto boundaries = w.is_size ? std::size_t{0} : static_cast<std::size_t>((end - 1) / sector - first);
    const std::size_t cuts = std::min(boundaries, most_cuts);
    const std::size_t lost = lost_of(2 + 2 * cuts + (boundaries > 1 ? 1 : 0));
    if (lost == 0) return of.apply(to, w);
    if (lost == 1) return;
    // The bytes of the write before its nth boundary.
    const auto before_boundary = [&](std::size_t n) noexcept {
        return static_cast<std::size_t>((first + 1 + n) * sector - w.offset);
    };
    const auto keep_from = [&](std::size_t at) {
        of.apply(to, {.offset = w.offset + at, .bytes = w.bytes.substr(at)});
    };
    const auto keep_to = [&](std::size_t at) { of.apply(to, {.offset = w.offset, .bytes = w.bytes.substr(0, at)}); };
    if (lost == 2 + 2 * cuts) {
        keep_to(before_boundary(0));
        return keep_from(before_boundary(boundaries - 1));
    }
    // Where there are more boundaries than cuts, the first ones and the last.
    const std::size_t nth = (lost - 2) % cuts;
    const std::size_t boundary = nth < (cuts + 1) / 2 ? nth : boundaries - (cuts - nth);
    if (lost - 2 < cuts) {
        keep_to(before_boundary(boundary));
    } else {
        keep_from(before_boundary(boundary));
    }
}

void disk::lose(disk_file& of, loss how) noexcept {
    std::string left = of.kept;
    for (const disk_write& w : of.unsynced) {
        if (w.synced || how == loss::none) {
            of.apply(left, w);
        } else if (how == loss::each) {
            keep_some(of, left, w);
        }
    }
    of.now = of.kept = std::move(left);
    of.unsynced.clear();
    of.name_kept = true;
}

bool disk::undo_renaming() {
    const disk_renaming& r = renamings_.back();
    if (files_.contains(r.from)) return false;
    if (!r.to.empty()) {
        const auto at = files_.find(r.to);
        if (at == files_.end() || at->second != r.file) return false;
        if (r.replaced != nullptr) {
            at->second = r.replaced;
        } else {
            files_.erase(at);
        }
    }
    files_[r.from] = r.file;
    renamings_.pop_back();
    return true;
}

void disk::crash() noexcept {
    check_thread();
    if (!std::exchange(up_, false)) return;
    for (auto& [number, o] : open_) o.lost = true;
    for (auto& [number, l] : listings_) l.lost = true;
    const bool at_risk = !renamings_.empty() || std::any_of(files_.begin(), files_.end(), [](const auto& entry) {
        return !entry.second->name_kept || entry.second->at_risk() != 0;
    });
    const auto how = static_cast<loss>(at_risk ? lost_of(3) : 0);
    std::size_t undone = how == loss::all ? renamings_.size() : 0;
    if (how == loss::each && !renamings_.empty()) undone = lost_of(std::min(renamings_.size(), most_undone) + 1);
    while (undone != 0 && undo_renaming()) --undone;
    renamings_.clear();
    for (auto at = files_.begin(); at != files_.end();) {
        disk_file& file = *at->second;
        const bool gone = !file.name_kept && (how == loss::all || (how == loss::each && lost_of(2) == 1));
        if (gone) {
            at = files_.erase(at);
        } else {
            lose(file, how);
            ++at;
        }
    }
}

// --- messages

std::string disk::dump() const {
    std::string text;
    if (!up_) text += "  is down\n";
    for (const auto& [path, file] : files_) {
        text += "  " + path + ": " + std::to_string(file->now.size()) + (file->now.size() == 1 ? " byte" : " bytes");
        if (!file->name_kept) text += "; its name is not synced";
        if (const std::size_t n = file->at_risk(); n != 0)
            text += "; " + std::to_string(n) + (n == 1 ? " write is not synced" : " writes are not synced");
        if (file->open != 0) text += "; open " + std::to_string(file->open) + (file->open == 1 ? " time" : " times");
        text += '\n';
    }
    for (const disk_renaming& r : renamings_)
        text += "  " + r.from + (r.to.empty() ? ": removed" : ": named " + r.to) + "; its directory is not synced\n";
    if (const auto n = line_.size(); n != 0)
        text += "  " + std::to_string(n) + (n == 1 ? " operation waits" : " operations wait") + " for it\n";
    return text;
}
std::string disk::describe() const {
    const std::string text = dump();
    return text.empty() ? text : options_.name + ":\n" + text;
}

}  // namespace coflux::testing::detail

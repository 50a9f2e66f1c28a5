#include <coflux/stream/snapshot.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <coflux/stream/detail/observed.hpp>

namespace coflux::stream {

namespace detail {

void actor_counts::reset() noexcept {
    for (auto* each : {&records, &batches, &sent, &failed, &retried, &skipped, &dead, &late, &commits, &moves,
                       &timed_batches, &timed_records}) {
        each->set(0);
    }
    watermark.set(no_time);
    timed.set(0);
    hottest.set({});
}

void partition_counts::reset() noexcept {
    is_here.set(false);
    records.set(0);
    next.set(unknown);
    end.set(unknown);
    watermark.set(no_time);
    share.set(0);
    for (auto* each : {&failed, &retried, &skipped, &dead, &late}) each->reset();
}

void observed::begin(std::span<const std::size_t> workers) {
    actors_.shrink(2);
    for (std::size_t p = 0; p != partitions_.size(); ++p) partitions_.find(p)->reset();
    reader().reset();
    writer().reset();
    writer().region.set(static_cast<std::uint32_t>(workers.size() + 1));
    is_bounded_.set(false);
    first_of_.clear();
    std::size_t i = 2;
    for (std::uint32_t region = 1; region <= workers.size(); ++region) {
        first_of_.push_back(i);
        for (std::uint32_t number = 0; number != workers[region - 1]; ++number, ++i) {
            actor_counts& line = actors_.make(i);
            line.reset();
            line.region.set(region);
            line.number.set(number);
        }
    }
}

partition_counts& observed::meet(std::uint32_t p, const std::string& name) {
    partition_counts& line = partitions_.make(p);
    const std::string* const before = line.name.load(std::memory_order_relaxed);
    if (before == nullptr || *before != name) {
        names_.push_back(name);
        line.name.store(&names_.back(), std::memory_order_release);  // pairs with the acquire in a snapshot
    }
    line.is_here.set(true);
    return line;
}

void observed::lose(std::uint32_t p) noexcept {
    if (partition_counts* const line = partitions_.find(p)) line->reset();
}

namespace {

void add(job_report& to, const actor_counts& from) noexcept {
    to.failed += from.failed.get();
    to.retried += from.retried.get();
    to.skipped += from.skipped.get();
    to.dead += from.dead.get();
    to.late += from.late.get();
}
void add(batch_times& to, const actor_counts& from) noexcept {
    to.batches += from.timed_batches.get();
    to.records += from.timed_records.get();
    to.total += std::chrono::nanoseconds(from.timed.get());
}

/// Calls `see(line)` with each worker.
template <typename See>
void each_worker(const observed& of, See see) {
    for (std::size_t i = 2, n = of.actors().size(); i < n; ++i) see(*of.actors().find(i));
}

partition_snapshot look_at(const partition_counts& line, const std::string& name) {
    partition_snapshot p{name,
                         line.records.get(),
                         line.failed.get(),
                         line.retried.get(),
                         line.skipped.get(),
                         line.dead.get(),
                         line.late.get(),
                         std::nullopt,
                         line.watermark.get(),
                         line.share.get()};
    const std::int64_t next = line.next.get();
    const std::int64_t end = line.end.get();
    if (next != partition_counts::unknown && end != partition_counts::unknown) {
        p.lag = static_cast<std::uint64_t>(std::max<std::int64_t>(end - next, 0));
    }
    return p;
}

// The hottest keys of all workers, by region. A worker tells how large its sample was, so shares can be compared.
std::vector<hot_key> hot_keys_of(const observed& of) {
    struct sampled {
        hot_share share;
        std::uint32_t number;
    };
    std::map<std::uint32_t, std::vector<sampled>> of_region;
    each_worker(of, [&](const actor_counts& line) {
        of_region[line.region.get()].push_back({line.hottest.get().value_or(hot_share()), line.number.get()});
    });
    std::vector<hot_key> hot;
    for (const auto& [region, workers] : of_region) {
        std::uint64_t samples = 0;
        for (const sampled& each : workers) samples += each.share.samples;
        for (const sampled& each : workers) {
            if (workers.size() == 1 || each.share.seen == 0 || each.share.seen * workers.size() < samples) continue;
            hot.push_back({std::string(each.share.name()), region, each.number,
                           static_cast<double>(each.share.seen) / static_cast<double>(samples)});
        }
    }
    std::ranges::sort(hot, std::ranges::greater(), &hot_key::share);
    return hot;
}

}  // namespace

job_report report_of(const observed& of) noexcept {
    job_report r;
    add(r, of.reader());
    add(r, of.writer());
    r.outputs = of.writer().records.get();
    r.commits = of.writer().commits.get();
    r.moves = of.writer().moves.get();
    each_worker(of, [&](const actor_counts& line) {
        add(r, line);
        r.batches += line.batches.get();
        if (line.region.get() == 1) r.records += line.records.get();
    });
    return r;
}

}  // namespace detail

job_snapshot job_control::snapshot() const {
    job_snapshot s{detail::report_of(seen_)};
    s.watermark = seen_.reader().watermark.get();
    s.is_bounded = seen_.is_bounded();
    s.read = seen_.reader().records.get();
    detail::add(s.read_time, seen_.reader());
    detail::add(s.write_time, seen_.writer());

    const std::uint32_t regions = seen_.writer().region.get();
    std::vector<std::uint64_t> taken(regions + 1);
    std::vector<std::uint64_t> sent(regions + 1);
    if (regions != 0) taken[regions] = seen_.writer().batches.get();
    detail::each_worker(seen_, [&](const detail::actor_counts& line) {
        worker_snapshot w{line.region.get(),
                          line.number.get(),
                          line.records.get(),
                          line.batches.get(),
                          line.late.get(),
                          line.watermark.get(),
                          {}};
        detail::add(w.step, line);
        detail::add(s.step_time, line);
        if (w.region <= regions) {
            taken[w.region] += w.batches;
            sent[w.region] += line.sent.get();
        }
        s.workers.push_back(w);
    });
    sent[0] = seen_.reader().sent.get();
    s.hot_keys = detail::hot_keys_of(seen_);
    for (std::uint32_t region = 1; region <= regions; ++region) {
        // The two were read at different moments, so what was taken may be ahead.
        s.queued.push_back(sent[region - 1] - std::min(sent[region - 1], taken[region]));
    }

    for (std::size_t p = 0, n = seen_.partitions().size(); p != n; ++p) {
        const detail::partition_counts& line = *seen_.partitions().find(p);
        const std::string* const name = line.name.load(std::memory_order_acquire);  // pairs with the release in meet()
        if (name == nullptr || !line.is_here.get()) continue;
        s.partitions.push_back(detail::look_at(line, *name));
        if (const auto lag = s.partitions.back().lag) s.lag = s.lag.value_or(0) + *lag;
    }
    return s;
}

}  // namespace coflux::stream

// The page docs/design/shards.md has the protocol.
#include <coflux/executor/shard_group.hpp>

#include <string>
#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>

#include "executor/detail/shard_thread.hpp"
#include "os/thread/heavy_fence.hpp"
#include "os/thread/thread.hpp"

namespace coflux {
namespace detail {

// --- a submission ----------------------------------------------------------------------------------------------------

constinit const wait_kind submission::how_it_stops{&submission::claim, nullptr, "another shard"};

submission::submission(promise_base& p, shard_set& of, std::size_t to, void (*call)(submission&) noexcept)
    : wait_operation(p, how_it_stops),
      to_(&of[to]),
      call_(call) {}

bool submission::is_here() const noexcept {
    return this_thread.executor == to_->identity();
}

std::coroutine_handle<> submission::send() {
    return wait_by(*this, [this]() noexcept {
        from_ = to_->sender_here(coroutine().runs_on());
        if (from_ != nullptr) {
            from_->send(*to_, *this);
        } else {
            to_->receive_from_outside(*this);
        }
        return wait_attempt::waits;  // this object may be gone
    });
}

// --- a shard ---------------------------------------------------------------------------------------------------------

shard_thread::shard_thread(shard_set& group, std::size_t number, worker_options options)
    : worker_thread(std::move(options), "a shard"),
      group_(group),
      number_(number) {}

shard_thread::~shard_thread() {
    end();
}

void shard_thread::connect() {
    from_ = std::make_unique<ring[]>(group_.size());
    outboxes_.resize(group_.size());
}

void shard_thread::enter() noexcept {
    of_this_thread = this;
}

shard_thread* shard_thread::sender_here(const executor_entry* own) const noexcept {
    shard_thread* const here = of_this_thread;
    const bool sends = here != nullptr && &here->group_ == &group_ && own != nullptr &&
                       own->identity == here->identity() && own->identity == this_thread.executor;
    return sends ? here : nullptr;
}

void shard_thread::send(shard_thread& to, submission& s) noexcept {
    outbox& box = outboxes_[to.number_];
    if (box.first == nullptr && push(to, s)) return;
    s.next_sent_ = nullptr;
    (box.first == nullptr ? box.first : box.last->next_sent_) = &s;
    box.last = &s;
    ++kept_back_;
}

bool shard_thread::push(shard_thread& to, submission& s) noexcept {
    if (!to.from_[number_].push(&s)) return false;
    to.rouse_if_asleep();
    return true;
}

void shard_thread::rouse_if_asleep() noexcept {
    if (asleep_.take(group_.is_fenced())) wake();
}

/// Sends in order what was kept back. True if something went.
bool shard_thread::flush() noexcept {
    bool some = false;
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
        outbox& box = outboxes_[i];
        while (box.first != nullptr) {
            submission& s = *box.first;
            submission* const next = s.next_sent_;
            if (!push(group_[i], s)) break;  // once pushed, it may be gone
            box.first = next;
            --kept_back_;
            some = true;
        }
    }
    return some;
}

bool shard_thread::has_room_for_some() noexcept {
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
        if (outboxes_[i].first != nullptr && group_[i].from_[number_].has_room()) return true;
    }
    return false;
}

bool shard_thread::has_arrived() noexcept {
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
        if (!from_[i].empty()) return true;
    }
    return false;
}

bool shard_thread::has_left_some() noexcept {
    return is_in_its_process() && (kept_back_ != 0 || has_arrived());
}

/// How many messages the turn has. The pace is that of full turns in a row, as of the rounds of a serial worker.
std::size_t shard_thread::begin_to_collect() noexcept {
    if (!turn_was_full_) {
        turns_are_timed_ = false;
        turns_.restart(0);  // it counts no turns for which there is no time
    } else if (!std::exchange(turns_are_timed_, true)) {
        turns_.restart(tick_now());
    } else {
        const std::uint64_t cycles = cycles_now();
        if (turns_.wants_a_look(cycles)) turns_.look(tick_now(), cycles);
    }
    return static_cast<std::size_t>(turns_.begin_round());
}

bool shard_thread::collect() noexcept {
    bool some = kept_back_ != 0 && flush();
    std::size_t left = begin_to_collect();
    const std::size_t senders = outboxes_.size();
    for (std::size_t tried = 0, i = served_first_; tried < senders && left != 0; ++tried) {
        ring& from = from_[i];
        const std::size_t taken = from.take(left, [this](submission& s) noexcept { receive(s); });
        if (taken != 0) {
            some = true;
            left -= taken;
            if (from.room_is_awaited(group_.is_fenced())) [[unlikely]]
                group_[i].rouse_if_asleep();
        }
        i = i + 1 == senders ? 0 : i + 1;
        if (left == 0) served_first_ = i;  // the next sender has its turn
    }
    turn_was_full_ = left == 0;
    return some;
}

void shard_thread::receive(submission& s) noexcept {
    if (s.done_) return s.wake();
    run(s);
    send(*s.from_, s);
}

/// The function is no coroutine, and may still make some: none is the current one.
void shard_thread::run(submission& s) noexcept {
    s.call_(s);
    s.done_ = true;
}

void shard_thread::receive_from_outside(submission& s) noexcept {
    s.frame_ = {&run_from_outside, &destroy_from_outside, &s};
    execute(std::coroutine_handle<>::from_address(&s.frame_));
}

void shard_thread::run_from_outside(void* at) noexcept {
    submission& s = *static_cast<submission::frame*>(at)->of;
    run(s);
    s.wake();
}

void shard_thread::destroy_from_outside(void*) noexcept {
    COFLUX_VERIFY(false, "a shard destroys what was submitted to it");
}

bool shard_thread::begin_to_rest() noexcept {
    asleep_.set();
    if (kept_back_ != 0) [[unlikely]] {
        for (std::size_t i = 0; i < outboxes_.size(); ++i) {
            if (outboxes_[i].first != nullptr) group_[i].from_[number_].await_room();
        }
    }
    sleep_word::pass(group_.heavy_fence_);
    if (has_arrived() || (kept_back_ != 0 && has_room_for_some())) return false;
    group_.resting_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: a hint
    rests_ = true;
    return true;
}

void shard_thread::end_rest() noexcept {
    asleep_.clear();  // a sender that has taken it back wakes for nothing
    if (std::exchange(rests_, false)) group_.resting_.fetch_sub(1, memory_order_relaxed);
}

std::size_t shard_thread::awake() const noexcept {
    return group_.size() - group_.resting_.load(memory_order_relaxed);
}

// --- a group ---------------------------------------------------------------------------------------------------------

namespace {

/// nullptr: the senders pay.
heavy_fence fence_for(message_fence asked) {
    if (asked == message_fence::by_sender) return nullptr;
    const heavy_fence found = os::find_heavy_fence();
    if (found == nullptr && asked == message_fence::by_sleeper) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                                "coflux: shard_options::fence is by_sleeper, and the system refuses membarrier()");
    }
    return found;
}

}  // namespace

shard_set::shard_set(const shard_options& options) : heavy_fence_(fence_for(options.fence)) {
    const std::size_t n = options.shards != 0 ? options.shards : os::usable_processors();
    shards_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        worker_options of_shard{.name = options.name + '-' + std::to_string(i),
                                .spin = options.spin,
                                .timer_spin = options.timer_spin,
                                .keep_memory = options.keep_memory};
        if (options.pin) of_shard.pin = i;
        shards_.push_back(std::make_unique<shard_thread>(*this, i, std::move(of_shard)));
    }
    for (const auto& s : shards_) s->connect();
    try {
        for (const auto& s : shards_) s->start();
    } catch (...) {  // all end before the first is destroyed: they look at each other
        for (const auto& s : shards_) s->end();
        throw;
    }
}

shard_set::~shard_set() {
    for (const auto& s : shards_) s->end();
    for (const auto& s : shards_) {
        COFLUX_VERIFY(
            !s->has_left_some(),
            "a shard_group ends with something submitted on its way: it outlives what runs in the environments "
            "that name its shards");
    }
}

shard_thread& shard_set::operator[](std::size_t i) const noexcept {
    COFLUX_VERIFY(i < shards_.size(), "shard %zu of %zu", i, shards_.size());
    return *shards_[i];
}

}  // namespace detail

shard_group::shard_group(std::size_t shards) : shard_group(shard_options{.shards = shards}) {}
shard_group::shard_group(shard_options options) : set_(std::make_unique<detail::shard_set>(options)) {
    shards_.reserve(set_->size());
    for (std::size_t i = 0; i < set_->size(); ++i) shards_.push_back(shard((*set_)[i].identity()));
}
shard_group::~shard_group() = default;

shard& shard_group::operator[](std::size_t i) noexcept {
    (void)(*set_)[i];  // checks the number
    return shards_[i];
}

std::optional<std::size_t> shard_group::here() const noexcept {
    const detail::shard_thread* const s = detail::shard_thread::of_thread();
    if (s == nullptr || &s->group() != set_.get()) return std::nullopt;
    return s->number();
}

}  // namespace coflux

// Fibers with a clock each: the one whose clock is behind all others runs next. A thread's thread-local objects are the
// program's, which are put by and laid back where the machine switches threads.
#include "machine.hpp"

#include <cxxabi.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coflux::machine {
namespace {

// Times in nanoseconds, of the size that they have on servers of today. Counts do not depend on them.
constexpr tick hit = 1;
constexpr tick lock_prefix = 6;
constexpr tick near_line = 60;
constexpr tick far_line = 150;
constexpr tick pause_time = 25;
constexpr tick yield_time = 300;
constexpr tick clock_read = 20;
constexpr tick wake_call = 1'000;
constexpr tick wake_on_the_way = 4'000;
constexpr tick sleep_call = 500;
constexpr tick fence_call = 500;
constexpr tick fence_a_thread = 50;  // more, for each that is interrupted
constexpr tick interrupt = 300;
// A thread runs on for so long when it has overtaken the others: a switch for each access would take minutes.
constexpr tick slack = 40;

constexpr std::size_t most_processors = 512;
constexpr std::size_t stack_bytes = std::size_t{1} << 20;
constexpr tick never = ~tick{0};

enum class state : std::uint8_t { ready, asleep, waits, ended };

struct at_exit {
    void (*call)(void*);
    void* object;
};

struct exceptions {  // __cxa_eh_globals of the C++ ABI
    void* caught = nullptr;
    unsigned uncaught = 0;
};

struct fiber {
    std::size_t number = 0;
    std::function<void()> body{};
    unsigned processor = 0;
    tick clock = 0;
    tick wakes_at = never;  // while asleep
    state is = state::ready;
    const void* where = nullptr;  // it sleeps or waits there
    bool overslept = false;
    counts counted{};
    ucontext_t context{};
    char* low = nullptr;  // of its stack
    std::vector<char> locals{};
    exceptions in_flight{};
    std::vector<at_exit> at_end{};
};

/// The processors that have a line. One alone may write.
struct line {
    std::array<std::uint64_t, most_processors / 64> has{};

    [[nodiscard]] bool is_at(unsigned p) const noexcept { return (has[p / 64] >> (p % 64) & 1) != 0; }
    void add(unsigned p) noexcept { has[p / 64] |= std::uint64_t{1} << (p % 64); }
};

[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "coflux machine: %s\n", why);
    std::_Exit(3);
}

class whole {
public:
    whole() {
        auto first = std::make_unique<fiber>();
        here_ = first.get();
        fibers_.push_back(std::move(first));
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* into) {
                auto& self = *static_cast<whole*>(into);
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
                    self.locals_ = static_cast<char*>(info->dlpi_tls_data);
                    const auto& segment = info->dlpi_phdr[i];
                    self.first_locals_.assign(segment.p_memsz, 0);
                    std::memcpy(self.first_locals_.data(),
                                reinterpret_cast<const char*>(info->dlpi_addr) + segment.p_vaddr, segment.p_filesz);
                }
                return 1;  // the program itself comes first
            },
            this);
        here_->locals = first_locals_;
    }

    void become(shape s) {
        if (s.processors == 0 || s.processors >= most_processors - 2 || s.nodes == 0) give_up("no such machine");
        shape_ = s;
        lines_.clear();
    }
    [[nodiscard]] shape of_now() const noexcept { return shape_; }
    [[nodiscard]] fiber& here() const noexcept { return *here_; }
    [[nodiscard]] unsigned node_of(unsigned processor) const noexcept {
        const unsigned each = (shape_.processors + shape_.nodes - 1) / shape_.nodes;
        return processor / each % shape_.nodes;
    }
    [[nodiscard]] counts counted() const noexcept {
        counts all;
        for (const auto& f : fibers_) all += f->counted;
        return all;
    }

    void pass(tick t) noexcept {
        here_->clock += t;
        if (here_->clock > limit_) let_others_run();
    }

    void touch(const void* address, access how) noexcept {
        fiber& me = *here_;
        tick takes = hit;
        if (how == access::locked) {
            ++me.counted.locked;
            takes += lock_prefix;
        }
        line& l = lines_[reinterpret_cast<std::uintptr_t>(address) / 64];
        const bool mine = l.is_at(me.processor);
        bool elsewhere = false;
        bool far = false;
        const bool writes = how != access::read;
        if (!mine || writes) look_for_others(l, me.processor, elsewhere, far);
        if (elsewhere && (!mine || writes)) {
            ++me.counted.moved;
            me.counted.far += far ? 1 : 0;
            takes += far ? far_line : near_line;
        }
        if (writes) l = {};
        l.add(me.processor);
        pass(takes);
    }

    std::size_t make(std::function<void()> body) {
        auto made = std::make_unique<fiber>();
        fiber& f = *made;
        f.number = fibers_.size();
        f.body = std::move(body);
        // The first thread, which makes the others, is beside the processors of those.
        f.processor = next_processor_++ % shape_.processors;
        f.clock = here_->clock + wake_on_the_way;
        f.locals = first_locals_;
        void* const memory =
            ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) give_up("no memory for a stack");
        f.low = static_cast<char*>(memory);
        ::getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.low;
        f.context.uc_stack.ss_size = stack_bytes;
        f.context.uc_link = nullptr;
        ::makecontext(&f.context, &whole::begin, 0);
        fibers_.push_back(std::move(made));
        make_ready(f);
        return f.number;
    }
    void join(std::size_t number) noexcept {
        fiber& f = *fibers_[number];
        while (f.is != state::ended) wait(&f);
        here_->clock = std::max(here_->clock, f.clock);
        if (f.low != nullptr) ::munmap(std::exchange(f.low, nullptr), stack_bytes);
    }

    bool sleep(const void* address, tick deadline) noexcept {
        ++here_->counted.sleeps;
        here_->clock += sleep_call;
        here_->where = address;
        here_->is = state::asleep;
        here_->wakes_at = deadline;
        here_->overslept = false;
        if (deadline != never) by_time_.insert({std::max(deadline, here_->clock) + wake_on_the_way, here_->number});
        switch_away();
        return here_->overslept;
    }
    void wait(const void* address) noexcept {
        here_->where = address;
        here_->is = state::waits;
        switch_away();
    }
    /// Those that are in state `of` at `address`.
    void go_on(const void* address, state of, bool all, tick later) noexcept {
        for (const auto& f : fibers_) {
            if (f->is != of || f->where != address) continue;
            if (f->is == state::asleep && f->wakes_at != never)
                by_time_.erase({std::max(f->wakes_at, f->clock) + wake_on_the_way, f->number});
            f->clock = std::max(f->clock, here_->clock + later);
            make_ready(*f);
            if (!all) return;
        }
    }

    void fence() noexcept {
        tick takes = fence_call;
        for (const auto& f : fibers_) {
            if (f.get() == here_ || f->is != state::ready) continue;
            by_time_.erase({f->clock, f->number});
            f->clock += interrupt;
            by_time_.insert({f->clock, f->number});
            ++here_->counted.interrupts;
            takes += fence_a_thread;
        }
        ++here_->counted.fences;
        set_limit();
        pass(takes);
    }

private:
    static void begin();

    void look_for_others(const line& l, unsigned me, bool& elsewhere, bool& far) const noexcept {
        bool near = false;
        for (unsigned i = 0; i < l.has.size(); ++i) {
            std::uint64_t bits = l.has[i];
            if (i == me / 64) bits &= ~(std::uint64_t{1} << (me % 64));
            for (; bits != 0; bits &= bits - 1) {
                elsewhere = true;
                const unsigned p = i * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
                (node_of(p) == node_of(me) ? near : far) = true;
                if (shape_.nodes == 1) return;
            }
        }
        if (near && !l.is_at(me)) far = false;  // read from the nearest that has it
    }

    void make_ready(fiber& f) noexcept {
        f.is = state::ready;
        f.where = nullptr;
        by_time_.insert({f.clock, f.number});
        set_limit();
    }
    void set_limit() noexcept { limit_ = by_time_.empty() ? never : by_time_.begin()->first + slack; }
    void let_others_run() noexcept {
        by_time_.insert({here_->clock, here_->number});
        switch_away();
    }
    void switch_away() noexcept {
        if (by_time_.empty()) give_up("all threads sleep, and none will wake: a wake-up was lost");
        const auto [when, number] = *by_time_.begin();
        by_time_.erase(by_time_.begin());
        set_limit();
        fiber& next = *fibers_[number];
        if (next.is == state::asleep) {  // its deadline has come
            next.is = state::ready;
            next.where = nullptr;
            next.overslept = true;
            next.clock = when;
        }
        if (&next == here_) return;
        fiber& before = *std::exchange(here_, &next);
        auto* const flying = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
        before.in_flight = std::exchange(*flying, next.in_flight);
        std::memcpy(before.locals.data(), locals_, before.locals.size());
        std::memcpy(locals_, next.locals.data(), next.locals.size());
        ::swapcontext(&before.context, &next.context);
    }

    shape shape_{};
    fiber* here_ = nullptr;
    std::vector<std::unique_ptr<fiber>> fibers_;
    std::set<std::pair<tick, std::size_t>> by_time_;  // those that are ready and do not run, and deadlines
    tick limit_ = never;
    unsigned next_processor_ = 0;
    std::unordered_map<std::uintptr_t, line> lines_;
    char* locals_ = nullptr;  // the program's
    std::vector<char> first_locals_;
};

/// Never destroyed: static objects of the library end on it.
whole& all() noexcept {
    static whole* const made = new whole;
    return *made;
}

void whole::begin() {
    fiber& f = all().here();
    f.body();
    f.body = nullptr;
    for (; !f.at_end.empty();) {
        const at_exit last = f.at_end.back();
        f.at_end.pop_back();
        last.call(last.object);
    }
    f.is = state::ended;
    all().go_on(&f, state::waits, true, 0);
    all().switch_away();
    give_up("a thread that has ended went on");
}

}  // namespace

counts operator-(counts a, const counts& b) noexcept {
    a.locked -= b.locked;
    a.moved -= b.moved;
    a.far -= b.far;
    a.fences -= b.fences;
    a.interrupts -= b.interrupts;
    a.wakes -= b.wakes;
    a.sleeps -= b.sleeps;
    return a;
}
counts& counts::operator+=(const counts& b) noexcept {
    locked += b.locked;
    moved += b.moved;
    far += b.far;
    fences += b.fences;
    interrupts += b.interrupts;
    wakes += b.wakes;
    sleeps += b.sleeps;
    return *this;
}
std::ostream& operator<<(std::ostream& out, const counts& c) {
    return out << c.locked << " locked, " << c.moved << " lines moved, " << c.far << " far, " << c.fences << " fences, "
               << c.interrupts << " interrupts, " << c.wakes << " wakes, " << c.sleeps << " sleeps";
}

void become(shape s) {
    all().become(s);
}
shape of_now() noexcept {
    return all().of_now();
}
tick now() noexcept {
    return all().here().clock;
}
void compute(tick nanoseconds) noexcept {
    all().pass(nanoseconds);
}
counts counted_here() noexcept {
    return all().here().counted;
}
counts counted() noexcept {
    return all().counted();
}
void touch(const void* address, access how) noexcept {
    all().touch(address, how);
}
void pause() noexcept {
    all().pass(pause_time);
}
void yield() noexcept {
    all().pass(yield_time);
}
std::uint64_t cycles() noexcept {
    all().pass(clock_read / 3);
    return now() * 3;
}
std::size_t make_thread(std::function<void()> body) {
    return all().make(std::move(body));
}
void join_thread(std::size_t number) noexcept {
    all().join(number);
}
void bind_to(unsigned processor) noexcept {
    all().here().processor = processor;
}
bool sleep_at(const void* address, tick deadline) noexcept {
    return all().sleep(address, deadline);
}
void wake_at(const void* address, bool every) noexcept {
    ++all().here().counted.wakes;
    all().here().clock += wake_call;
    all().go_on(address, state::asleep, every, wake_on_the_way);
}
void wait_at(const void* address) noexcept {
    all().wait(address);
}
void go_on_at(const void* address, bool every) noexcept {
    all().go_on(address, state::waits, every, near_line);
}
void fence_all() noexcept {
    all().fence();
}
stack stack_here() noexcept {
    auto low = reinterpret_cast<std::uintptr_t>(all().here().low);
    if (low != 0) return {low, low + stack_bytes};
    stack s;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return s;
    void* begin = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
        s.low = reinterpret_cast<std::uintptr_t>(begin);
        s.high = s.low + size;
    }
    pthread_attr_destroy(&attributes);
    return s;
}

}  // namespace coflux::machine

// The clock of the standard library is the machine's in this program.
std::chrono::steady_clock::time_point std::chrono::_V2::steady_clock::now() noexcept {
    coflux::machine::compute(coflux::machine::clock_read);
    return time_point(duration(static_cast<rep>(coflux::machine::now() + 1'000'000'000)));
}

// Objects that a thread destroys at its end are destroyed at the end of the machine's.
extern "C" int __cxa_thread_atexit(void (*call)(void*), void* object, void*) noexcept {
    coflux::machine::all().here().at_end.push_back({call, object});
    return 0;
}

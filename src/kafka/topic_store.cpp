// The page docs/design/checkpoints.md has the protocol.
#include <coflux/kafka/topic_store.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/core/as_outcome.hpp>
#include <coflux/core/context.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/stream/detail/checkpoint_file.hpp>
#include <coflux/stream/detail/checksum.hpp>

#include "client.hpp"

namespace coflux::detail {
namespace {

using stream::detail::checkpoint_head;
using stream::detail::stored_state;
using stream::detail::throw_corrupt;

/// A slot of a region. Regions begin with 1, and 0 is the head.
using part = std::pair<std::uint32_t, std::uint32_t>;
constexpr part head_part{0, 0};

/// Where a message belongs: each part has two places, and a place has pieces.
struct piece_name {
    part of;
    std::uint32_t place = 0;
    std::uint32_t number = 0;

    friend auto operator<=>(const piece_name&, const piece_name&) = default;
};
/// `region/slot/place/piece`.
std::string key_text(const piece_name& name) {
    return std::to_string(name.of.first) + "/" + std::to_string(name.of.second) + "/" + std::to_string(name.place) +
           "/" + std::to_string(name.number);
}
std::optional<piece_name> name_of_key(std::string_view key) {
    std::array<std::uint32_t, 4> numbers{};
    for (std::uint32_t& each : numbers) {
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), each);
        if (error != std::errc()) return std::nullopt;
        key.remove_prefix(static_cast<std::size_t>(end - key.data()));
        const bool is_last = &each == &numbers.back();
        if (is_last ? !key.empty() : !key.starts_with('/')) return std::nullopt;
        if (!is_last) key.remove_prefix(1);
    }
    if (numbers[2] > 1) return std::nullopt;
    return piece_name{{numbers[0], numbers[1]}, numbers[2], numbers[3]};
}

/// The messages of the partition. A piece begins with the number of its checkpoint.
class found_pieces {
public:
    struct piece {
        std::uint64_t checkpoint = 0;
        std::vector<std::byte> bytes;
    };

    void take(const kafka::message& m) {
        const std::optional<piece_name> name = name_of_key(m.key());
        if (!name) return;
        const auto raw = std::as_bytes(std::span(m.value()));
        if (raw.size() < sizeof(std::uint64_t)) {  // a tombstone
            all_.erase(*name);
            return;
        }
        piece& p = all_[*name];
        p.checkpoint = stream::state_reader(raw).number<std::uint64_t>();
        p.bytes.assign(raw.begin() + sizeof(std::uint64_t), raw.end());
        last_number_ = std::max(last_number_, p.checkpoint);
    }
    /// The greatest of a checkpoint that has a piece, and be it torn.
    [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }

    /// The first piece of a part in a place; nullptr where there is none.
    [[nodiscard]] const piece* first_of(part of, std::uint32_t place) const { return find({of, place, 0}); }
    /// The greatest checkpoint of the pieces of a part in a place, and be it torn; none where there is no piece.
    [[nodiscard]] std::optional<std::uint64_t> newest_of(part of, std::uint32_t place) const {
        std::optional<std::uint64_t> newest;
        for (const auto& [name, found] : all_) {
            if (name.of == of && name.place == place) newest = std::max(newest.value_or(0), found.checkpoint);
        }
        return newest;
    }
    /// The pieces of a checkpoint in a place, one behind the other, up to `size` bytes: less where some are not there.
    [[nodiscard]] std::vector<std::byte> joined(part of, std::uint32_t place, std::uint64_t checkpoint,
                                                std::uint64_t size) const {
        std::vector<std::byte> bytes;
        for (std::uint32_t i = 0; bytes.size() < size; ++i) {
            const piece* const p = find({of, place, i});
            if (p == nullptr || p->checkpoint != checkpoint) break;
            bytes.insert(bytes.end(), p->bytes.begin(), p->bytes.end());
        }
        return bytes;
    }
    /// How many pieces each place has.
    [[nodiscard]] std::map<std::pair<part, std::uint32_t>, std::uint32_t> counts() const {
        std::map<std::pair<part, std::uint32_t>, std::uint32_t> all;
        for (const auto& [name, unused] : all_) all[{name.of, name.place}] = name.number + 1;  // in their order
        return all;
    }

private:
    [[nodiscard]] const piece* find(const piece_name& name) const {
        const auto at = all_.find(name);
        return at == all_.end() ? nullptr : &at->second;
    }

    std::map<piece_name, piece> all_;
    std::uint64_t last_number_ = 0;
};

}  // namespace

class kafka_checkpoints {
public:
    kafka_checkpoints(kafka::producer_options options, kafka_transaction* with, kafka::position at, std::string job,
                      const kafka::topic_store_options& how)
        : options_(std::move(options)),
          with_(with),
          at_(std::move(at)),
          job_(std::move(job)),
          how_(how) {
        if (with_ == nullptr && options_.transactional_id.empty())
            throw std::invalid_argument("coflux: Kafka: a topic_store has transactions, and they need an id: "
                                        "producer_options::transactional_id is empty");
        if (job_.empty()) throw std::invalid_argument("coflux: Kafka: a topic_store needs the name of its job");
        if (how_.piece == 0) throw std::invalid_argument("coflux: Kafka: topic_store_options::piece is 0");
    }

    call<void> store(environment&, const stream::checkpoint& c) {
        auto&& here = co_await context();
        // A job that has committed nothing yet loads nothing.
        if (!is_known_) {
            const auto found = co_await load(here, nullptr);
            // Its positions were committed with it, so the group has lost them, and the job has begun anew.
            if (with_ != nullptr && found && !found->at.empty() && !found->states.empty()) {
                is_known_ = false;  // nor does another run with this store begin anew
                throw_lost(found->at);
            }
        }
        checkpoint_head head{job_, ++last_number_, c.slots, c.at, {}};
        std::vector<std::byte> begin;
        co_await blocking([&] {
            describe(c, head);
            begin = written_head(head);
        });
        if (with_ != nullptr) {
            co_await send_all(here, with_->out(), c, head, begin);
        } else {
            co_await store_alone(here, c, head, begin);
        }
        note(head);
    }

    call<std::optional<stream::checkpoint>> load(environment&, const stream::positions* wanted) {
        auto&& here = co_await context();
        is_known_ = false;
        if (with_ == nullptr) co_await fence(here);
        const found_pieces found = co_await read(here);
        last_number_ = found.last_number();
        pieces_ = found.counts();
        places_.clear();
        last_.clear();
        std::exception_ptr first_error;
        for (const auto& [number, place] : heads_in(found)) {
            try {
                const checkpoint_head head = head_in(found, place, number);
                if (wanted != nullptr && head.at != *wanted) continue;
                stream::checkpoint c{head.slots, head.at, {}};
                places_ = {{head_part, place}};
                co_await blocking([&] {
                    for (const stored_state& s : head.states) c.states.push_back(state_in(found, s));
                });
                last_ = head.states;
                is_known_ = true;
                co_return c;
            } catch (const stream::corrupt_state&) {
                if (first_error == nullptr) first_error = std::current_exception();
            }
            if (wanted == nullptr && !how_.use_older) break;
        }
        if (first_error != nullptr) std::rethrow_exception(first_error);
        is_known_ = wanted == nullptr;
        co_return std::nullopt;
    }

    call<void> close(environment&) {
        auto&& here = co_await context();
        if (own_.is_open()) co_await own_.close(here);
    }

private:
    /// Ends what an earlier process has left open, and lets it store nothing any more.
    call<void> fence(environment&) {
        auto&& here = co_await context();
        if (own_.is_open()) co_await own_.close(here);
        own_ = kafka::producer(options_);
        co_await own_.connect(here);
        co_await own_.init_transactions(here);
    }

    call<found_pieces> read(environment&) {
        auto&& here = co_await context();
        kafka::consumer in(
            {.client = with_ != nullptr ? with_->client() : options_.client, .group = job_, .reports_end = true});
        std::vector<kafka::position> from{{at_.topic, at_.partition, kafka::place::beginning}};
        co_await in.assign(here, std::move(from));
        found_pieces found;
        std::vector<kafka::message> some;
        kafka::polled got;
        while (got.what != kafka::polled::kind::end) {
            got = co_await in.poll(here, some);
            for (const kafka::message& m : some) found.take(m);
            some.clear();
        }
        co_await in.close(here);
        co_return found;
    }

    [[noreturn]] void throw_lost(const stream::positions& at) const {
        std::string text;
        for (const stream::position& p : at)
            text += (text.empty() ? "" : ", ") + p.partition + " from " + std::to_string(p.next);
        throw stream::corrupt_state("coflux: the partition " + name_of(at_.topic, at_.partition) +
                                    " has a checkpoint of the job \"" + job_ + "\" that goes on with " + text +
                                    "; the group of its source has committed no positions");
    }

    [[nodiscard]] std::string place_name(const piece_name& name) const {
        return name_of(at_.topic, at_.partition) + " under " + key_text(name);
    }

    /// The number and the place of each head, the newest first.
    static std::vector<std::pair<std::uint64_t, std::uint32_t>> heads_in(const found_pieces& found) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> heads;
        for (const std::uint32_t place : {0U, 1U}) {
            if (const auto number = found.newest_of(head_part, place)) heads.emplace_back(*number, place);
        }
        std::ranges::sort(heads, std::greater<>());
        return heads;
    }
    /// A transaction is seen as a whole, so a head whose pieces are not all there has lost some.
    [[nodiscard]] checkpoint_head head_in(const found_pieces& found, std::uint32_t place, std::uint64_t number) const {
        const std::string name = place_name({head_part, place, 0});
        std::size_t size = stream::detail::checkpoint_prefix;
        std::vector<std::byte> bytes = found.joined(head_part, place, number, size);
        if (bytes.size() >= size) {
            size = stream::detail::size_of_head(bytes, std::numeric_limits<std::uint64_t>::max(), name);
            bytes = found.joined(head_part, place, number, size);
        }
        if (bytes.size() < size)
            throw_corrupt(name, bytes.size(),
                          "the head of checkpoint " + std::to_string(number) + " has not all of its pieces");
        if (bytes.size() > size) throw_corrupt(name, size, "it has more bytes than its head speaks of");
        checkpoint_head head = stream::detail::read_head(bytes, name);
        if (head.job != job_) {
            throw_corrupt(name, stream::detail::checkpoint_prefix,
                          "it is one of the job \"" + head.job + "\"; this job is \"" + job_ + "\"");
        }
        if (head.number != number)
            throw_corrupt(name, 0, "it is checkpoint " + std::to_string(head.number) + " under another number");
        return head;
    }
    [[nodiscard]] stream::slot_state state_in(const found_pieces& found, const stored_state& s) {
        const part of{s.region, s.slot};
        const found_pieces::piece* const first = found.first_of(of, 0);
        const std::uint32_t place = first != nullptr && first->checkpoint == s.file ? 0 : 1;
        std::vector<std::byte> bytes = found.joined(of, place, s.file, s.size);
        if (bytes.size() != s.size || stream::detail::checksum(bytes) != s.sum) {
            throw_corrupt(place_name({of, place, 0}), 0,
                          "the state of slot " + std::to_string(s.slot) + " of region " + std::to_string(s.region) +
                              " is not the one that was stored");
        }
        places_[of] = place;
        return {s.region, s.slot, std::move(bytes)};
    }

    /// Says which checkpoint has the bytes of each state: this one, or the one that has them already.
    void describe(const stream::checkpoint& c, checkpoint_head& head) const {
        std::map<part, const stored_state*> before;
        for (const stored_state& s : last_) before[{s.region, s.slot}] = &s;
        for (const stream::slot_state& s : c.states) {
            stored_state now{s.region, s.slot, head.number, s.bytes.size(), stream::detail::checksum(s.bytes)};
            const auto was = before.find({s.region, s.slot});
            if (was != before.end() && was->second->size == now.size && was->second->sum == now.sum)
                now.file = was->second->file;
            head.states.push_back(now);
        }
    }

    /// The place of a part that the last checkpoint does not need.
    [[nodiscard]] std::uint32_t free_place(part of) const {
        const auto at = places_.find(of);
        return at == places_.end() ? 0 : 1 - at->second;
    }

    call<void> store_alone(environment&, const stream::checkpoint& c, const checkpoint_head& head,
                           const std::vector<std::byte>& begin) {
        auto&& here = co_await context();
        co_await own_.begin_transaction(here);
        std::exception_ptr failed;
        try {
            co_await send_all(here, own_, c, head, begin);
            co_await own_.commit_transaction(here);
        } catch (const kafka::error& e) {
            if (e.is_fatal()) throw;
            failed = std::current_exception();
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed != nullptr) {  // the next store() begins another one
            (void)co_await as_outcome(own_.abort_transaction(here));
            std::rethrow_exception(failed);
        }
    }
    call<void> send_all(environment&, kafka::producer& to, const stream::checkpoint& c, const checkpoint_head& head,
                        const std::vector<std::byte>& begin) {
        auto&& here = co_await context();
        for (std::size_t i = 0; i != c.states.size(); ++i) {
            if (head.states[i].file == head.number)
                co_await send(here, to, {c.states[i].region, c.states[i].slot}, head.number, c.states[i].bytes);
        }
        co_await send(here, to, head_part, head.number, begin);
    }
    /// In pieces; the place has no others afterwards.
    call<void> send(environment&, kafka::producer& to, part of, std::uint64_t number,
                    std::span<const std::byte> bytes) {
        auto&& here = co_await context();
        piece_name name{of, free_place(of), 0};
        std::vector<std::byte> value;
        for (; !bytes.empty(); ++name.number) {
            const auto some = bytes.first(std::min(how_.piece, bytes.size()));
            bytes = bytes.subspan(some.size());
            value.clear();
            stream::state_writer out(value);
            out(number);
            out.bytes(some);
            co_await send(here, to, name, std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
        }
        const std::uint32_t before = std::exchange(pieces_[{of, name.place}], name.number);
        for (; name.number < before; ++name.number) co_await send(here, to, name, std::nullopt);
    }
    call<void> send(environment&, kafka::producer& to, const piece_name& name, std::optional<std::string_view> value) {
        auto&& here = co_await context();
        const std::string key = key_text(name);
        const kafka::outgoing m{.topic = at_.topic, .partition = at_.partition, .key = key, .value = value};
        if (!to.try_send(m)) co_await to.send(here, m);
    }

    void note(const checkpoint_head& head) {
        std::map<part, std::uint32_t> places{{head_part, free_place(head_part)}};
        for (const stored_state& s : head.states) {
            const part of{s.region, s.slot};
            places[of] = s.file == head.number ? free_place(of) : places_.at(of);
        }
        places_ = std::move(places);
        last_ = head.states;
    }

    kafka::producer_options options_;
    kafka::producer own_;
    kafka_transaction* with_;  // or none: it has transactions of its own
    kafka::position at_;
    std::string job_;
    kafka::topic_store_options how_;
    bool is_known_ = false;  // what is in the partition
    std::uint64_t last_number_ = 0;
    std::vector<stored_state> last_;        // of the last checkpoint that was stored or loaded
    std::map<part, std::uint32_t> places_;  // which that one needs
    std::map<std::pair<part, std::uint32_t>, std::uint32_t> pieces_;  // of each place
};

}  // namespace coflux::detail

namespace coflux::kafka {

topic_store::topic_store(producer_options own, position at, std::string job, topic_store_options options)
    : state_(std::make_shared<detail::kafka_checkpoints>(std::move(own), nullptr, std::move(at), std::move(job),
                                                         options)) {}
topic_store::topic_store(detail::kafka_transaction& with, position at, std::string job, topic_store_options options)
    : state_(std::make_shared<detail::kafka_checkpoints>(producer_options(), &with, std::move(at), std::move(job),
                                                         options)) {}

call<void> topic_store::store(environment&, const stream::checkpoint& c) {
    auto&& here = co_await context();
    co_await state_->store(here, c);
}
call<std::optional<stream::checkpoint>> topic_store::load(environment&, const stream::positions* wanted) {
    auto&& here = co_await context();
    co_return co_await state_->load(here, wanted);
}
call<void> topic_store::close(environment&) {
    auto&& here = co_await context();
    co_await state_->close(here);
}

}  // namespace coflux::kafka

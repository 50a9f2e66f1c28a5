// One event loop per core. Data of a shard needs no lock; other shards ask for it.
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include <coflux/coflux.hpp>

// Counts words; one of these a shard.
class words {
public:
    void add(const std::string& word) { ++count_[word]; }
    int count(const std::string& word) { return count_[word]; }
    int all() const {
        int sum = 0;
        for (const auto& [word, n] : count_) sum += n;
        return sum;
    }

private:
    std::unordered_map<std::string, int> count_;
};

coflux::task<void, coflux::shard> program(coflux::environment&, coflux::shard_group* shards) {
    auto&& here = co_await coflux::context();
    coflux::sharded<words> index(*shards);
    co_await index.start(here);

    // Each word has one shard that knows it.
    const auto home = [shards](const std::string& word) { return std::hash<std::string>()(word) % shards->size(); };
    for (const std::string word : {"a", "rose", "is", "a", "rose", "is", "a", "rose"}) {
        co_await index.invoke_on(home(word), [&word](words& w) { w.add(word); });
    }

    const std::string asked = "rose";
    const int roses = co_await index.invoke_on(home(asked), [&asked](words& w) { return w.count(asked); });
    const int all = co_await index.map_reduce(here, [](words& w) { return w.all(); }, 0, std::plus<>());
    std::printf("%d of %d words are %s\n", roses, all, asked.c_str());
    co_await index.stop(here);
}

int main() {
    coflux::shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    program(env, &shards).get();
}

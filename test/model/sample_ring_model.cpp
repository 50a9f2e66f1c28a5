// The ring of a profile's samples, src/inspect/profile/sample_ring.hpp: the handler of a signal adds while the thread
// of the profile takes.
#include "../../src/inspect/profile/sample_ring.hpp"

#include "support/model.hpp"

namespace {

struct sample {
    coflux::model::plain<int> number{0};
};

/// Thread 0 adds so many to a ring of two, and thread 1 takes what it finds.
template <int Added>
struct adds_and_takes : coflux::model::scenario<2> {
    coflux::detail::sample_ring<sample, 2> ring;
    int last = 0;
    int taken = 0;

    void take() {
        ring.take_all([this](const sample& s) {
            const int number = s.number.get();
            MODEL_CHECK(number > last);
            last = number;
            ++taken;
        });
    }
    void thread(unsigned index) override {
        if (index == 0) {
            for (int i = 1; i <= Added; ++i) ring.add(1, [i](sample& s) { s.number.set(i); });
        } else {
            take();
            take();
        }
    }
    void after() override {
        take();
        MODEL_CHECK(taken >= 2 && static_cast<std::uint64_t>(taken) + ring.lost() == Added);
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "sample_ring", "the ring of a profile's samples",
        {
            searched<adds_and_takes<2>>("has_room", "samples in sight of the thread that takes them", 4),
            searched<adds_and_takes<4>>("is_full", "a cell written again once it was read, and samples that are lost",
                                        3),
        });
}

#include <coflux/base/intrusive_list.hpp>

#include <array>

#include <gtest/gtest.h>

namespace {

using namespace coflux::detail;

struct element {
    element* next = nullptr;
    element* previous = nullptr;
};
using three = std::array<element, 3>;

TEST(intrusive_stack, gives_back_the_last_first) {
    three e;
    intrusive_stack<element> s;
    EXPECT_EQ(s.pop(), nullptr);
    for (element& x : e) s.push(x);
    EXPECT_EQ(s.top(), &e[2]);
    for (int i = 2; i >= 0; --i) EXPECT_EQ(s.pop(), &e[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(s.empty());
}

TEST(intrusive_chain, gives_back_the_first_first) {
    three e;
    intrusive_chain<element> c;
    EXPECT_EQ(c.pop_front(), nullptr);
    for (element& x : e) c.push_back(x);
    for (element& x : e) EXPECT_EQ(c.pop_front(), &x);
    EXPECT_TRUE(c.empty());
    c.push_back(e[1]);
    EXPECT_EQ(c.pop_front(), &e[1]);
    EXPECT_EQ(c.front(), nullptr);
}

TEST(intrusive_chain, takes_one_before_the_first) {
    three e;
    intrusive_chain<element> c;
    c.push_front(e[1]);
    c.push_back(e[2]);
    c.push_front(e[0]);
    for (element& x : e) EXPECT_EQ(c.pop_front(), &x);
    EXPECT_TRUE(c.empty());
}

TEST(intrusive_chain, appends_another_whole) {
    for (const bool empty : {false, true}) {
        three e;
        intrusive_chain<element> c;
        intrusive_chain<element> other;
        if (!empty) c.push_back(e[0]);
        other.push_back(e[1]);
        other.push_back(e[2]);
        c.append(other);
        EXPECT_TRUE(other.empty());
        if (!empty) {
            EXPECT_EQ(c.pop_front(), &e[0]);
        }
        EXPECT_EQ(c.pop_front(), &e[1]);
        c.push_back(e[0]);
        EXPECT_EQ(c.pop_front(), &e[2]);
        EXPECT_EQ(c.pop_front(), &e[0]);
        EXPECT_TRUE(c.empty());
    }
}

TEST(intrusive_list, takes_out_any_element) {
    for (std::size_t taken = 0; taken < 3; ++taken) {
        three e;
        intrusive_list<element> l;
        for (element& x : e) l.push_front(x);
        l.remove(e[taken]);
        for (std::size_t i = 3; i-- != 0;) {
            if (i != taken) {
                EXPECT_EQ(l.pop_front(), &e[i]);
            }
        }
        EXPECT_TRUE(l.empty());
        l.push_front(e[taken]);
        EXPECT_EQ(l.front(), &e[taken]);
    }
}

TEST(intrusive_list, takes_an_element_in_behind_any_other) {
    for (std::size_t before = 0; before < 2; ++before) {
        three e;
        intrusive_list<element> l;
        l.push_front(e[1]);
        l.push_front(e[0]);
        l.insert_after(e[before], e[2]);
        EXPECT_EQ(e[before].next, &e[2]);
        l.remove(e[before]);
        l.remove(e[2]);
        EXPECT_EQ(l.pop_front(), &e[1 - before]);
        EXPECT_TRUE(l.empty());
    }
}

TEST(intrusive_queue, takes_out_any_element_and_says_whether_it_was_in) {
    for (std::size_t taken = 0; taken < 3; ++taken) {
        three e;
        intrusive_queue<element> q;
        EXPECT_FALSE(q.remove(e[taken]));
        for (element& x : e) q.push_back(x);
        EXPECT_TRUE(q.remove(e[taken]));
        EXPECT_FALSE(q.remove(e[taken])) << "it is out already";
        for (std::size_t i = 0; i < 3; ++i) {
            if (i != taken) {
                EXPECT_EQ(q.pop_front(), &e[i]);
            }
        }
        EXPECT_EQ(q.pop_front(), nullptr);
        q.push_back(e[taken]);
        EXPECT_EQ(q.front(), &e[taken]);
        EXPECT_EQ(q.pop_front(), &e[taken]);
        EXPECT_FALSE(q.remove(e[taken])) << "it was handed out";
    }
}

TEST(intrusive_queue, gives_all_at_once_as_a_chain) {
    three e;
    intrusive_queue<element> q;
    for (element& x : e) q.push_back(x);
    const element* of = q.take_all();
    for (const element& x : e) {
        EXPECT_EQ(of, &x);
        of = of->next;
    }
    EXPECT_EQ(of, nullptr);
    EXPECT_TRUE(q.empty());
    EXPECT_FALSE(q.remove(e[1]));
}

struct linked {
    linked* after = nullptr;
    linked* before = nullptr;
};
struct by_other_names {
    static linked*& next(linked& of) { return of.after; }
    static linked*& previous(linked& of) { return of.before; }
};

TEST(intrusive_list, uses_the_links_that_it_is_told_of) {
    linked a;
    linked b;
    intrusive_list<linked, by_other_names> l;
    l.push_front(a);
    l.push_front(b);
    EXPECT_EQ(b.after, &a);
    EXPECT_EQ(a.before, &b);
}

}  // namespace

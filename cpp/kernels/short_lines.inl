// Short lines, many at a time. To set out on a line costs as much as to reduce a few vectors of it, and its tail goes
// element by element. So lines of a few vectors are laid behind each other, with the padding that they share between
// them, and are reduced as one; what comes out across the end of a line is left there.

constexpr int64_t kShortLine = 256;   // bytes of a line up to which it is short
constexpr int64_t kManyLines = 64;    // lines at a time, at most
constexpr int64_t kManyBytes = 8192;  // of them: they, their sums and their results stay in the nearest cache

template <class C>
struct ShortLines {
    int64_t many;       // lines at a time; 1: each on its own
    int64_t apart;      // cells from the beginning of one to that of the next
    Target<C> results;  // room for the results of so many
};

template <class C>
inline ShortLines<C> short_lines(const Pass<C>& p, int64_t lines, int64_t length, const Margins& at, Arena* arena) {
    const int64_t width = static_cast<int64_t>(sizeof(typename C::T)) * p.run;
    const int64_t apart = at.middle + most(at.before, at.after);  // what is behind one line is before the next
    ShortLines<C> s{1, apart, {nullptr, nullptr}};
    if (lines == 1 || p.axis->s > 1 || p.in_stride != p.run || p.out_stride != p.run || length * width > kShortLine)
        return s;
    s.many = most(1, least(least(lines, kManyLines), kManyBytes / (apart * width)));
    if (s.many > 1) s.results = take_cells<C>(arena, ((s.many - 1) * apart + p.count) * p.run, true);
    return s;
}

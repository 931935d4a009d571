// Compensated summation.

/// Σ x with an error that does not grow with the number of terms (Kahan, Communications of the ACM 8 (1965) 40). An infinite
/// term makes the sum NaN.
/// `Lanes` is Simd for a sum per lane, or RowSum for a sum over a row.
/// Cost: four dependent additions per vector; negligible beside the exponentials in a sum of exponentials.
template <class Lanes>
class RunningSum {
 public:
  EIGEN_ALWAYS_INLINE RunningSum() : sum_(0), excess_(0) {}  // an implicit one would ignore the kernel's instruction set
  EIGEN_ALWAYS_INLINE void add(const Lanes& x) {
    const Lanes term = x - excess_, next = sum_ + term;
    excess_ = (next - sum_) - term;
    sum_ = next;
  }
  /// The sum over a row.
  EIGEN_ALWAYS_INLINE auto total() const { return sum_.total() - excess_.total(); }
  /// The sum of each lane.
  EIGEN_ALWAYS_INLINE Lanes lanes() const { return sum_ - excess_; }

 private:
  Lanes sum_, excess_;  // excess_: the rounding error in sum_
};

/// Σ f(j, lanes) over the vectors of a row. Each group of `together` vectors is summed plainly; the group sums are added with
/// compensation.
template <class T, Index together, class F>
EIGEN_ALWAYS_INLINE T running_sum_of_row(Index count, const F& f) {
  constexpr Index group = together * vectors_of_sum<T> * Simd<T>::width;
  RunningSum<RowSum<T>> sum;
  for (Index first = 0; first < count; first += group) {
    RowSum<T> part;
    for_each_vector<T>(count - first < group ? count - first : group, [&](Index offset, Index lanes) {
      part.at(offset) = part.at(offset) + f(first + offset, lanes);
    });
    sum.add(part);
  }
  return sum.total();
}

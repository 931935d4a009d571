// Compensated summation.

/// Σ x with an error that does not grow with the number of terms (Kahan, Communications of the ACM 8 (1965) 40). An infinite
/// term makes the sum NaN.
/// `Lanes` is Simd for a sum per lane, or RowSum for a sum over a row.
/// Cost: four dependent additions per vector; negligible beside the exponentials in a sum of exponentials.
template <class Lanes>
class RunningSum {
 public:
  EIGEN_ALWAYS_INLINE RunningSum() : sum_(0), excess_(0) {}  // written out: an implicit one would belong to no form
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

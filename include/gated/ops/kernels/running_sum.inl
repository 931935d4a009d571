// Compensated summation.

/// Σ x with an error that does not grow with the number of terms (Kahan, Communications of the ACM 8 (1965) 40). An infinite
/// term makes it NaN.
/// Cost: four dependent additions per vector; negligible beside the exponentials in a sum of exponentials.
template <class T>
class RunningSum {
 public:
  EIGEN_ALWAYS_INLINE RunningSum() : sum_(T{0}), excess_(T{0}) {}  // explicit: an implicit one would belong to no kernel form
  EIGEN_ALWAYS_INLINE void add(Simd<T> x) {
    const Simd<T> term = x - excess_, next = sum_ + term;
    excess_ = (next - sum_) - term;
    sum_ = next;
  }
  EIGEN_ALWAYS_INLINE T total() const { return sum_.sum() - excess_.sum(); }
  /// The sum of each lane.
  EIGEN_ALWAYS_INLINE Simd<T> lanes() const { return sum_ - excess_; }

 private:
  Simd<T> sum_, excess_;  // excess_: the rounding error in sum_
};

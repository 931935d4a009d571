#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "gated/core/path_pattern.hpp"
#include "gated/io/load_report.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/origin.hpp"
#include "gated/io/weight_tensors.hpp"

namespace gated {

namespace detail {

GATED_INLINE TensorPosition find_tensor(const SafetensorsFile& file, const FileTensor& wanted) {
  auto found = file.tensors().find(wanted.name);
  for (const std::string& other : wanted.elsewhere) {
    found = found == file.tensors().end() ? file.tensors().find(other) : found;
  }
  return found;
}

/// A list of errors of one kind. Errors that differ only in block numbers share a line.
class FoldedList {
 public:
  explicit FoldedList(const char* what) : what_(what) {}

  /// Adds an error about `name`; `rest` follows the name. `hint()` is called at most once per line.
  template <class Hint>
  void add(const std::string& name, const std::string& rest, const Hint& hint) {
    ++count_;
    const auto [found, is_new] = places_.try_emplace(pattern_of(name) + rest, lines_.size());
    if (is_new) {
      lines_.push_back({name, rest, lines_.size() < most_hints ? hint() : std::string(), 0});
    }
    ++lines_[found->second].count;
  }
  void add(const std::string& name, const std::string& rest) {
    add(name, rest, [] { return std::string(); });
  }

  std::size_t count() const { return count_; }

  /// The errors in at most `most` lines. If there are more errors, the last line counts them.
  std::string text_of(std::size_t most) const {
    const std::size_t shown = lines_.size() > most ? most - 1 : lines_.size();
    std::string out;
    std::size_t left = count_;
    for (const Line& line : std::span(lines_).first(shown)) {
      left -= line.count;
      out += line.count == 1
                 ? text("\n  ", line.name, line.rest, line.hint)
                 : text("\n  ", pattern_of(line.name), line.rest, pattern_of(line.hint), " (", line.count, " times)");
    }
    return left == 0 ? out : text(out, "\n  … and ", left, " more ", what_);
  }

 private:
  /// Limits the number of hints: a hint takes a millisecond or more, and an untrusted file can name a million parameters.
  static constexpr std::size_t most_hints = 20;

  struct Line {
    std::string name, rest, hint;
    std::size_t count;
  };
  const char* what_;
  std::vector<Line> lines_;
  std::map<std::string, std::size_t> places_;  // pattern and rest → index in `lines_`
  std::size_t count_ = 0;
};

/// All mismatches between a file and a model.
class LoadReport {
 public:
  LoadReport(const SafetensorsFile& file, const NameMap& names) : file_(file), names_(names) {}

  /// Compares a parameter with its tensor.
  void check(const StatedParameter& parameter) {
    const std::string& path = parameter.path;
    require<ArgumentError>(static_cast<std::size_t>(parameter.shape.count()) == parameter.count, "load_parameters: ", path,
                           " has ", parameter.count, " values, but declares the shape ", parameter.shape.describe(), ".");
    std::string last;
    for (const FileTensor& wanted : names_.parts_in_file(path, parameter.shape)) {
      if (wanted.name != last) {  // consecutive pieces may belong to one tensor
        check_tensor(parameter, wanted);
      }
      last = wanted.name;
    }
  }

  /// Raises FileError, with a report of at most 12 lines, if there are mismatches.
  void finish() {
    std::vector<std::string_view> unexpected;
    for (const auto& [name, entry] : file_.tensors()) {
      if (used_.count(name) > 0 || names_.ignores(name)) {
        continue;
      }
      if (const std::string original = names_.tied_to(name); !original.empty()) {
        check_tie(name, original);
      } else {
        unexpected.push_back(name);
      }
    }
    if (missing_.empty() && unexpected.empty() && mis_shaped_.count() + unconvertible_.count() == 0) {
      return;
    }
    const std::string hint = recognized();
    FoldedList missing("missing"), others("unexpected");
    for (const Missing& one : missing_) {
      missing.add(labelled(one.path, one.wanted.name), text(": expected ", describe_shape(one.wanted.shape), ", missing"), [&] {
        const std::string_view nearest = hint.empty() ? near_name(one.wanted.name, unexpected) : std::string_view();
        return nearest.empty() ? std::string() : "; nearest in the file: " + described(nearest);
      });
    }
    for (const std::string_view name : unexpected) {
      others.add(printable(name),
                 text(" ", describe_shape(file_.tensor(name).shape), ": unexpected, no parameter has this name"));
    }
    const FoldedList* const lists[] = {&mis_shaped_, &unconvertible_, &missing, &others};
    const auto kinds = std::count_if(std::begin(lists), std::end(lists), [](const auto* list) { return list->count() > 0; });
    std::string report = text(file_.name(), ": the file does not fit the model",
                              names_.origin.empty() ? "" : text(" (names of ", names_.origin, ")"),
                              ", and nothing was loaded: ", missing.count(), " missing, ", others.count(), " unexpected, ",
                              mis_shaped_.count(), " mis-shaped, ", unconvertible_.count(), " unconvertible.", hint);
    for (const FoldedList* const list : lists) {
      report += list->text_of(10 / static_cast<std::size_t>(kinds));
    }
    raise<FileError>(report);
  }

 private:
  struct Missing {
    std::string path;
    FileTensor wanted;
  };

  void check_tensor(const StatedParameter& parameter, const FileTensor& wanted) {
    const std::string& path = parameter.path;
    const auto found = find_tensor(file_, wanted);
    if (found == file_.tensors().end()) {
      if (parameter.role != Role::constant) {
        missing_.push_back({path, wanted});
      }
      return;
    }
    used_.insert(found->first);
    const TensorEntry& entry = found->second;
    const std::string name = labelled(path, found->first),
                      expected = text(": expected ", describe_shape(wanted.shape), ", got ");
    if (entry.dtype == Dtype::I8 && file_.contains(scale_name(found->first))) {
      used_.insert(file_.tensors().find(scale_name(found->first))->first);
    }
    if (entry.shape != wanted.shape) {
      mis_shaped_.add(name, expected + describe_shape(entry.shape));
    } else if (entry.dtype == Dtype::I8) {
      if (const std::string fault = fault_of_codes(file_, found->first); !fault.empty()) {
        unconvertible_.add(name, expected + fault);
      }
    } else if (!is_floating(entry.dtype)) {
      unconvertible_.add(name, text(expected, name_of(entry.dtype), ", which is not a floating type"));
    } else if (const std::size_t at = parameter.type == Dtype::F32 ? first_misfit<float>(entry.dtype, entry.bytes)
                                                                   : first_misfit<double>(entry.dtype, entry.bytes);
               at != entry.count()) {
      unconvertible_.add(
          name, text(expected, name_of(entry.dtype), " whose value at index ", at, " does not fit ", name_of(parameter.type)));
    }
  }

  /// Tied tensors are one parameter here, so they must be equal in the file.
  void check_tie(std::string_view copy, const std::string& original) {
    const auto found = file_.tensors().find(original);
    const auto& bytes = file_.tensor(copy).bytes;
    if (found == file_.tensors().end() ||
        !std::equal(bytes.begin(), bytes.end(), found->second.bytes.begin(), found->second.bytes.end())) {
      unconvertible_.add(described(copy), text(": expected to equal ", original, ", because the model ties them"));
    }
  }

  /// A hint if the file's names are not those of the name map's origin, or if its shapes match a preset; otherwise empty.
  std::string recognized() const {
    const Origin* const origin = origin_of(file_);
    if (origin == nullptr) {
      const auto ours = file_.metadata().find("architecture");
      return ours == file_.metadata().end() || names_.origin.empty()
                 ? ""
                 : text("\n  The file holds a ", printable(ours->second), " with gated's own names: pass no name map.");
    }
    const std::string preset = preset_of(file_);
    const bool other_names = names_.origin != origin->writer;
    if (!other_names && preset.empty()) {
      return {};
    }
    return text("\n  ",
                other_names
                    ? text("These are ", origin->writer, "'s names: pass ", names_call(*origin), " of ", origin->header, ".")
                    : "",
                other_names && !preset.empty() ? " " : "", preset.empty() ? "" : text("The shapes are those of ", preset, "."));
  }

  /// The nearest of `candidates` if `name` may be a typo of it; else empty.
  static std::string_view near_name(const std::string& name, const std::vector<std::string_view>& candidates) {
    const std::string_view nearest = nearest_name(name, candidates);
    return nearest.empty() || edit_distance(name, nearest) > 1 + name.size() / 3 ? std::string_view() : nearest;
  }

  /// A parameter's path, followed by its name in the file if that differs.
  static std::string labelled(const std::string& path, const std::string& name) {
    return path == name ? path : text(path, " (in the file: ", name, ")");
  }

  std::string described(std::string_view name) const {
    const TensorEntry& entry = file_.tensor(name);
    return text(printable(name), " ", describe_shape(entry.shape));
  }

  const SafetensorsFile& file_;
  const NameMap& names_;
  std::set<std::string_view> used_;
  std::vector<Missing> missing_;
  FoldedList mis_shaped_{"mis-shaped"}, unconvertible_{"unconvertible"};
};

GATED_INLINE void expect_all_fit(std::span<const StatedParameter> parameters, const SafetensorsFile& file,
                                 const NameMap& names) {
  LoadReport report(file, names);
  for (const StatedParameter& parameter : parameters) {
    report.check(parameter);
  }
  report.finish();
}

}  // namespace detail

}  // namespace gated

"""gated's models from Python, with ctypes and numpy. Copy this file and libgated.so beside your program.

    import gated
    model = gated.Model("digits_gmlp.safetensors", weights="int8")
    scores = model.run(images)                       # rows × pixels, float32 → rows × classes

    state = gated.Model("bible.int8.safetensors").start()
    logits = state.extend(list(b"And Noah"))[-1]     # scores of the next byte
"""

import ctypes
import operator
import os
import sys
import numpy as np

_size, _index, _text, _handle = ctypes.c_size_t, ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_void_p
_floats, _ints, _bytes = (ctypes.POINTER(t) for t in (ctypes.c_float, _index, ctypes.c_uint8))


class _Struct(ctypes.Structure):
    def __init__(self, **members):
        super().__init__(ctypes.sizeof(type(self)), **members)  # `size` is the first member of all structs


class _Source(_Struct):
    _fields_ = [("size", _size), ("path", _text), ("bytes", ctypes.c_void_p), ("byte_count", _size), ("weights", _text),
                ("products", _text), ("threads", ctypes.c_int)]


class Description(_Struct):
    _fields_ = [("size", _size), ("architecture", _text), ("config", _text), ("reads_tokens", ctypes.c_int),
                ("vocabulary", _index), ("columns", _index), ("outputs", _index), ("pooled_outputs", _index),
                ("shortest", _index), ("longest", _index), ("multiple", _index), ("streams", ctypes.c_int),
                ("takes_mask", ctypes.c_int), ("parameters", _index), ("image_width", _index), ("image_height", _index),
                ("image_channels", _index), ("labels", ctypes.POINTER(_text)), ("label_count", _index), ("signature", _text)]


class _Input(_Struct):
    pass


_Input._fields_ = [("size", _size), ("values", _floats), ("tokens", _ints), ("rows", _index), ("columns", _index),
                   ("lengths", _ints), ("sequences", _index), ("mask", _bytes), ("token_types", _ints),
                   ("output_rows", ctypes.c_int), ("other", ctypes.POINTER(_Input))]


class _Output(_Struct):
    _fields_ = [("size", _size), ("values", _floats), ("capacity", _index), ("rows", _index), ("columns", _index)]


_beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libgated.so")
try:
    _library = ctypes.CDLL(os.environ.get("GATED_LIBRARY") or (_beside if os.path.exists(_beside) else "libgated.so"))
except OSError as error:
    raise ImportError(f"{error}. Copy libgated.so beside gated.py, or set GATED_LIBRARY to its path.") from None
_library.gated_last_error.restype = _library.gated_version.restype = _text


class Error(RuntimeError):
    """The library's message about a failed call."""


def _call(name, *arguments):
    if getattr(_library, name)(*arguments) != 0:
        raise Error(_library.gated_last_error().decode(errors="replace"))


def _whole(name, numbers):
    """`numbers` as an array of integers; None if it is None."""
    if numbers is None:
        return None
    numbers = np.asarray(numbers)
    if numbers.size and numbers.dtype.kind not in "iub":
        raise Error(f"{name} has elements of type {numbers.dtype}, expected integers.")
    return np.ascontiguousarray(numbers, np.intp)


def _count(name, number):
    if not 0 <= operator.index(number) <= sys.maxsize:
        raise Error(f"{name} = {number}, expected 0 … {sys.maxsize}.")
    return _index(number)


def _input(x, reads_tokens, lengths=None, mask=None, tokens=None, types=None, output_rows=0, other=None):
    """An input, and the arrays that it points to."""
    x = _whole("x", x) if reads_tokens else np.ascontiguousarray(x, np.float32)
    if reads_tokens:
        if x.ndim > 2 or (x.ndim == 2 and lengths is not None):
            raise Error(f"x has {x.ndim} dimensions, expected 1, or 2 without lengths: a text per row.")
        lengths = [x.shape[1]] * len(x) if x.ndim == 2 else lengths
        x = x.reshape(-1)
    else:
        x = x.reshape(len(x), int(np.prod(x.shape[1:])))
        if len(x) and x.shape[1] == 0:
            raise Error(f"x has {len(x)} rows without columns.")
    lengths, tokens, types = _whole("lengths", lengths), _whole("tokens", tokens), _whole("types", types)
    mask = None if mask is None else np.ascontiguousarray(np.asarray(mask) != 0, np.uint8)
    if tokens is not None and lengths is None:  # one token per sequence
        if tokens.size == 0 or len(x) % tokens.size:
            raise Error(f"{tokens.size} frequency tokens for {len(x)} rows, expected one for each sequence.")
        lengths = np.full(tokens.size, len(x) // tokens.size, np.intp)
    if tokens is not None and tokens.size != lengths.size:
        raise Error(f"{tokens.size} frequency tokens for {lengths.size} sequences, expected one for each.")
    for name, array in ("mask", mask), ("types", types):
        if array is not None and array.size != len(x):
            raise Error(f"{name} has {array.size} entries, expected one for each of the {len(x)} rows.")
    at = lambda array, kind: None if array is None else array.ctypes.data_as(kind)
    made = _Input(rows=len(x), output_rows=output_rows)
    if reads_tokens:
        made.tokens = at(x, _ints)
    else:
        made.values, made.columns, made.tokens = at(x, _floats), x.shape[1], at(tokens, _ints)
    made.lengths, made.sequences = at(lengths, _ints), 0 if lengths is None else lengths.size
    made.mask, made.token_types = at(mask, _bytes), at(types, _ints)
    if other is not None:
        other = _input(**(other if isinstance(other, dict) else {"x": other}), reads_tokens=False)
        made.other = ctypes.pointer(other[0])
    return made, (x, lengths, mask, tokens, types, other)


def _output_of(call, handle, made):
    output = _Output()
    _call(call, handle, ctypes.byref(made), ctypes.byref(output))  # a call without a buffer sets only the shape
    y = np.empty((output.rows, output.columns), np.float32)
    output.values, output.capacity = y.ctypes.data_as(_floats), y.size
    _call(call, handle, ctypes.byref(made), ctypes.byref(output))
    return y


class Model:
    """A model of any architecture that gated supports. Threads may share it."""

    def __init__(self, path, weights=None, products=None, threads=1):
        self._as_parameter_ = _handle()
        encoded = [None if word is None else os.fsencode(word) for word in (path, weights, products)]
        source = _Source(path=encoded[0], weights=encoded[1], products=encoded[2], threads=threads)
        _call("gated_open", ctypes.byref(source), ctypes.byref(self._as_parameter_))

    def __del__(self):
        _library.gated_close(self)

    @property
    def about(self):
        about = Description()  # gated_description in gated.h
        _call("gated_describe", self, ctypes.byref(about))
        about.model = self  # owns the strings
        return about

    @property
    def labels(self):
        return [self.about.labels[i].decode() for i in range(self.about.label_count)]

    def run(self, x, lengths=None, mask=None, pooled=False, other=None, tokens=None, types=None):
        """The model's output for x: rows of values, or token ids (a text, or a text per row).

        lengths: rows of each sequence. mask: 0 or 1 per row; 0 hides it. types: a segment id per token.
        pooled: a vector per sequence, from a text model.
        tokens: the frequency tokens of a TinyTimeMixer, one per sequence.
        other: a second x, or a dict of such arguments: keys of a GatedCrossAttention (with values as their own `other`), or
        the known future of a TinyTimeMixer.
        """
        made, arrays = _input(x, self.about.reads_tokens, lengths, mask, tokens, types, 2 if pooled else 0, other)
        return _output_of("gated_run", self, made)

    def start(self, capacity=0):
        return State(self, capacity)


class State:
    """The state of a sequence that is streamed through a causal model."""

    def __init__(self, model, capacity=0, branch_of=None):
        self._as_parameter_ = _handle()
        self.reads_tokens = model.about.reads_tokens if branch_of is None else branch_of.reads_tokens
        at = ctypes.byref(self._as_parameter_)
        if branch_of is not None:
            _call("gated_copy", branch_of, at)
        else:
            _call("gated_start", model, _count("capacity", capacity), at)

    def __del__(self):
        _library.gated_free(self)

    def extend(self, x):
        """Feeds the next rows or tokens to the model and returns their outputs."""
        made, arrays = _input(x, self.reads_tokens)
        return _output_of("gated_extend", self, made)

    def copy(self):
        return State(None, branch_of=self)

    def rewind(self, position):
        _call("gated_rewind", self, _count("position", position))

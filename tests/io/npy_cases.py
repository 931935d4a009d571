"""Writes npy_cases.npz and npy_cases_f4.npy, which npy_test.cpp and npz_test.cpp read. Usage: python3 npy_cases.py"""
import numpy

counting = numpy.arange(24).reshape(2, 3, 4)
arrays = {name: (counting - (0 if name[0] in "ub" else 5)).astype(kind) for name, kind in {
    "f8": "<f8", "f4": "<f4", "f2": "<f2", "i8": "<i8", "i4": "<i4", "i2": "<i2", "i1": "|i1",
    "u8": "<u8", "u4": "<u4", "u2": "<u2", "u1": "|u1"}.items()}
arrays["bool"] = counting[0] % 2 == 1
arrays["by_columns"] = numpy.asfortranarray(counting[0].astype("<f4"))
arrays["scalar"] = numpy.float64(2.5)
arrays["vector"] = numpy.array([1.5, -2.5, 3.5], "<f4")
arrays["empty"] = numpy.zeros((0, 4), "<f4")
numpy.savez("npy_cases.npz", **arrays)
numpy.save("npy_cases_f4.npy", arrays["f4"])

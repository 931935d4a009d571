"""Reads and writes safetensors files with numpy only, for the scripts that make test data. Debian has no safetensors package."""

import json
import struct

import numpy as np

# In file order: widest types first, which aligns each tensor to its element size.
DTYPES = {"F64": np.float64, "I64": np.int64, "F32": np.float32, "U8": np.uint8, "BOOL": np.bool_}


def read_safetensors(path, convert=np.asarray):
    """Returns a dictionary of the arrays, and the metadata. For PyTorch tensors, pass convert=torch.from_numpy."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        arrays[name] = convert(np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy())
    return arrays, metadata


def write_safetensors(path, arrays, metadata):
    """Writes a dictionary of arrays or PyTorch tensors, stably sorted by type."""
    arrays = {name: array.detach().numpy() if hasattr(array, "detach") else array for name, array in arrays.items()}
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header, offset = {"__metadata__": metadata}, 0
    order = sorted(arrays, key=lambda name: list(names).index(arrays[name].dtype))
    for name in order:
        end = offset + arrays[name].nbytes
        header[name] = {"dtype": names[arrays[name].dtype], "shape": list(arrays[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(arrays[name].tobytes())

"""Quantizes an ONNX model as onnxruntime.quantization.quantize_dynamic does by default, without that package.

Follows the rules of its operators/matmul.py and onnx_quantizer.py, as far as these models need them:

* A MatMul whose second factor is a float initializer becomes a MatMulInteger (MatMulConstBOnly). Others stay float: attention
  scores, and weights that are the first factor, such as those over tokens.
* A Gemm becomes a MatMul and an Add, if alpha and beta are 1 and the first factor is not transposed.
* A weight becomes int8, symmetric, with one scale max|w| / 127 (QInt8, not per_channel, no reduce_range).
* The other factor becomes uint8 at run time, by one DynamicQuantizeLinear for all products that read it.
* Nodes have the order that ONNX Runtime recognizes and fuses to DynamicQuantizeMatMul.

Difference: quantize_dynamic also quantizes tables read by a Gather, unless the model was preprocessed as it recommends, which
folds such tables. Here they stay float.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

OTHERS = {"Attention", "Conv", "EmbedLayerNormalization", "LSTM"}  # operators that quantize_dynamic also quantizes


def products(node, constants):
    """Splits a Gemm into a MatMul and an Add; returns any other node unchanged."""
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    scales = attributes.get("alpha", 1), attributes.get("beta", 1)
    if node.op_type != "Gemm" or scales != (1, 1) or attributes.get("transA", 0) or node.input[1] not in constants:
        return [node]
    x, weight, *bias = node.input
    if attributes.get("transB", 0):
        constants[weight + "_transposed"] = constants[weight].T
        weight += "_transposed"
    product = node.output[0] + "_product" if bias else node.output[0]
    nodes = [helper.make_node("MatMul", [x, weight], [product])]
    return nodes + ([helper.make_node("Add", [product, *bias], node.output)] if bias else [])


def quantized_weight(weight):
    """Returns the int8 codes, the scale and the zero point of `weight`."""
    largest = numpy.abs(weight).max()
    scale = numpy.float32(largest / 127 if largest > 0 else 1)
    return numpy.round(weight / scale).clip(-127, 127).astype(numpy.int8), scale, numpy.int8(0)


def quantize_dynamic(model):
    """Quantizes `model` in place and returns it."""
    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes, known = [], set()

    def add(kind, inputs, outputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def parts(name):
        return [name + ending for ending in ("_quantized", "_scale", "_zero_point")]

    for node in (part for node in graph.node for part in products(node, constants)):
        if node.op_type in OTHERS:
            raise ValueError(f"node {node.op_type} cannot be quantized here. Add its rule to quantize_onnx.py.")
        x, weight = node.input[:2] if node.op_type == "MatMul" else (None, None)
        if weight not in constants or constants[weight].dtype != numpy.float32:
            nodes.append(node)
            continue
        if x not in known:
            add("DynamicQuantizeLinear", [x], parts(x))
        if weight not in known:
            constants.update(zip(parts(weight), quantized_weight(constants[weight])))
        known |= {x, weight}
        (x_codes, x_scale, x_zero), (codes, scale, zero), y = parts(x), parts(weight), node.output[0]
        add("MatMulInteger", [x_codes, codes, x_zero, zero], [y + "_sum"])
        add("Cast", [y + "_sum"], [y + "_float_sum"], to=TensorProto.FLOAT)
        add("Mul", [x_scale, scale], [y + "_sum_scale"])
        add("Mul", [y + "_float_sum", y + "_sum_scale"], [y])

    used = {name for node in nodes for name in node.input}
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(
        numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items() if name in used)
    return model

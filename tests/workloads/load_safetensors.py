#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model loader as they are found in the wild, and a file for it to load.

    load_safetensors.py make FILE [BYTES]   write a file of about BYTES (default 2G)
    load_safetensors.py load FILE           copy every tensor out of a mapping of it

The file is in the safetensors format: a length, a JSON header, then the tensors one after
the other in the order in which the model defines them.  The loader goes by name, as most
do, so that within a layer it jumps back and forth and layer 10 comes before layer 2; each
tensor is copied to a buffer from which a device would fetch it.  It knows nothing of
readahead, and uses only the standard library.
"""

import json
import mmap
import os
import struct
import sys
import zlib

# Shapes of a small model of the Llama family, two bytes a number.
HIDDEN, MIDDLE, KEYS, WORDS, LAYERS = 2048, 8192, 512, 32000, 16

LAYER = [
    ("input_layernorm", [HIDDEN]),
    ("self_attn.q_proj", [HIDDEN, HIDDEN]),
    ("self_attn.k_proj", [KEYS, HIDDEN]),
    ("self_attn.v_proj", [KEYS, HIDDEN]),
    ("self_attn.o_proj", [HIDDEN, HIDDEN]),
    ("post_attention_layernorm", [HIDDEN]),
    ("mlp.gate_proj", [MIDDLE, HIDDEN]),
    ("mlp.up_proj", [MIDDLE, HIDDEN]),
    ("mlp.down_proj", [HIDDEN, MIDDLE]),
]


def length_of(shape):
    length = 2
    for n in shape:
        length *= n
    return length


def model(size):
    """The tensors of a model of at most size bytes, but of one layer at least."""
    tensors = [("model.embed_tokens.weight", [WORDS, HIDDEN])]
    left = size - 2 * length_of([WORDS, HIDDEN])
    layer_size = sum(length_of(shape) for _, shape in LAYER)
    for i in range(max(1, min(LAYERS, left // layer_size))):
        tensors += [(f"model.layers.{i}.{name}.weight", shape) for name, shape in LAYER]
    tensors += [("model.norm.weight", [HIDDEN]), ("lm_head.weight", [WORDS, HIDDEN])]
    return tensors


def make(path, size):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in model(size):
        end = at + length_of(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    noise = os.urandom(32 << 20)
    part = path + ".part"
    try:
        with open(part, "xb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            turn = 0
            while at > 0:
                # The same noise, turned, is beyond the reach of file systems that
                # compress, and much cheaper than new noise.
                turn = (turn + 4097 * 8) % len(noise)
                block = memoryview(noise)[turn:turn + at]
                at -= out.write(block)
                at -= out.write(memoryview(noise)[:min(turn, at)])
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def load(path):
    """Copies every tensor to where the device would fetch it; returns what was seen."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    base = 8 + length
    ranges = {name: header[name]["data_offsets"] for name in sorted(header)}
    staging = bytearray(max(end - begin for begin, end in ranges.values()))
    proof = total = 0
    with memoryview(data) as source, memoryview(staging) as target:
        for name, (begin, end) in ranges.items():
            target[:end - begin] = source[base + begin:base + end]
            # A byte of each page and the name are proof enough, and cost little.
            sample = bytes(target[:end - begin:4093])
            proof = zlib.crc32(name.encode() + sample, proof)
            total += end - begin
    data.close()
    return f"{len(ranges)} tensors, {total} bytes, proof {proof:08x}"


def main(args):
    if len(args) in (2, 3) and args[0] == "make":
        make(args[1], int(args[2]) if len(args) == 3 else 2 << 30)
    elif len(args) == 2 and args[0] == "load":
        print(load(args[1]))
    else:
        print("usage: load_safetensors.py make FILE [BYTES] | load FILE", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

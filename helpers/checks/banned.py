"""What bans refuse, by name (see bans.py)."""

from __future__ import annotations

# What each ban refuses: names of operators (every overload of each), and functions written in Python.
NORMS = (
    *("layer_norm", "native_layer_norm", "group_norm", "native_group_norm", "instance_norm", "batch_norm"),
    *("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional"),
    *("_native_batch_norm_legit_no_training", "_batch_norm_impl_index", "_batch_norm_no_update"),
    *("_batch_norm_with_update", "_batch_norm_with_update_functional", "rms_norm", "_fused_rms_norm"),
)
OPERATORS: dict[str, tuple[str, ...]] = {
    "attention": (
        "scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_fused_attention_overrideable",
        "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd",
    ),
    "multi-head attention": ("_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
    "encoder layer": ("_transformer_encoder_layer_fwd",),
    # each of them is the other one on inputs with mean zero
    "layer norm": NORMS,
    "rms norm": NORMS,
    "activations": (
        # those with a slope on the negative side, too: at a slope of zero they are ReLU
        *("leaky_relu", "leaky_relu_", "prelu", "_prelu_kernel", "rrelu", "rrelu_", "rrelu_with_noise", "elu", "elu_"),
        *("rrelu_with_noise_", "rrelu_with_noise_functional", "celu", "celu_", "threshold_backward"),
        # and those that cut off
        *("threshold", "threshold_", "hardtanh", "hardtanh_"),
        "relu",
        "relu_",
        "relu6",
        "relu6_",
        "gelu",
        "gelu_",
        "silu",
        "silu_",
        "_add_relu",
        "_add_relu_",
        "glu",
    ),
    "dropout": (
        *("dropout", "dropout_", "native_dropout", "_fused_dropout", "alpha_dropout", "alpha_dropout_"),
        *("feature_dropout", "feature_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_"),
    ),
    "cross entropy": (
        "cross_entropy_loss",
        "nll_loss",
        "nll_loss_nd",
        "nll_loss_forward",
        "nll_loss2d",
        "nll_loss2d_forward",
        "kl_div",
        # one step of an alignment, one class against the others
        *("ctc_loss", "_ctc_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    ),
    "autograd": ("_backward", "_make_dual", "_make_dual_copy"),
}
PYTHON: dict[str, tuple[str, ...]] = {
    "attention": (
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.MultiheadAttention.forward",
        "torch.nn.attention.flex_attention.flex_attention",
        "torch._higher_order_ops.flex_attention.sdpa_dense",
        "torch._higher_order_ops.flex_attention.math_attention",
        "torch._higher_order_ops.flex_attention._math_attention_inner",
    ),
    "multi-head attention": ("torch.nn.functional.multi_head_attention_forward", "torch.nn.MultiheadAttention.forward"),
    "encoder layer": ("torch.nn.TransformerEncoderLayer.forward", "torch.nn.TransformerEncoder.forward"),
    "sacrebleu": (
        "sacrebleu.corpus_bleu",
        "sacrebleu.sentence_bleu",
        "sacrebleu.raw_corpus_bleu",
        "sacrebleu.metrics.bleu.BLEU.corpus_score",
        "sacrebleu.metrics.bleu.BLEU.sentence_score",
        "sacrebleu.metrics.bleu.BLEU.compute_bleu",
        "sacrebleu.metrics.bleu.BLEU._compute_score_from_stats",
    ),
}
# Libraries that hold networks and their parts, written in Python: what is asked for is ready in them. While an operator
# is forbidden nothing of them can be called.
READY_MADE: tuple[str, ...] = (
    *("transformers", "sentence_transformers", "sklearn.metrics", "torch.ao.nn.quantizable", "torch.onnx.ops"),
    "torch._inductor.fx_passes.fuse_attention",
    "torch.testing._internal.common_methods_invocations",
)
# Ways to run a recording of torch.jit, and a kernel past the dispatcher: a class and its methods, or a function.
GRAPH_RUNNERS = (
    ("_SafeKernelFunction", ("call_boxed",)),
    ("ScriptFunction", ("__call__",)),
    ("ScriptMethod", ("__call__",)),
    ("LiteScriptModule", ("__call__", "run_method", "forward")),
    ("StaticModule", ("__call__", "runAsync")),
    ("_jit_interpret_graph", ()),
)
# Ways to tell the dispatcher that a graph is to be recorded all the same.
DISPATCHER_DOORS = (
    *((name, ("__init__", "__enter__")) for name in ("_ForceDispatchKeyGuard", "_IncludeDispatchKeyGuard")),
    *((name, ("__init__", "__enter__")) for name in ("_RestorePythonTLSSnapshot", "_PreserveDispatchKeyGuard")),
    ("_SetExcludeDispatchKeyGuard", ("__init__", "__enter__")),
    ("_dispatch_tls_set_dispatch_key_excluded", ()),
    ("_dispatch_tls_set_dispatch_key_included", ()),
)

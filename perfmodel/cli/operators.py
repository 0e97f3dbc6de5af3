"""`perfmodel operators`: the operators of a language model on a GPU."""

from typing import Literal

from perfmodel.cli.grouped_options import option
from perfmodel.cli.options import DEVICE, JSON, TIMING, Timing, complete_from
from perfmodel.cli.output import print_json, show


def operators(
    *,
    model: str = option(
        "Model shape: llama-2-7b, llama-3-8b, four-d (the same with an FFN of 4 x width), "
        "minigpt, or a TOML file.",
        metavar="NAME|FILE",
        complete=complete_from("shape_names"),
        default="llama-2-7b",
    ),
    context: int | None = option(
        "Tokens in the cache, and of the prompt; by default the model's.", metavar="TOKENS"
    ),
    batch: int = option("Sequences at a time.", metavar="SEQUENCES", default=1),
    device: str = DEVICE,
    timing: Timing = TIMING,
    cache: Literal["step", "cold", "warm"] = option(
        "L2 when an operator starts: step, as the step so far leaves it; cold, empty; warm, with "
        "all that it reads.",
        default="step",
    ),
    json: bool = JSON,
) -> None:
    """Predict the operators of a decoder: each token's, and a prompt's attention.

    For every operator: the memory in which its working set lives, bytes, FLOP, intensity, time with
    its 90% interval, and what binds. A token's total is the sum of its kernels over all layers; the
    cache read is what it reads of the K and V cache. A shape file states layers, width, heads,
    kv_heads, head_width, ffn_width, ffn_matrices, vocab, context and dtype (fp16, bf16, fp32).
    """
    from perfmodel.hardware import load_device
    from perfmodel.operators.model_shape import load_shape
    from perfmodel.operators.predict import predict_operators

    times = predict_operators(
        load_shape(model),
        load_device(device),
        context=context,
        batch=batch,
        timing=timing,
        cache=cache,
    )
    if json:
        print_json(times.to_json())
    else:
        from perfmodel.reports.operators_text import operators_report

        show(operators_report(times))

"""A tiny GPT-2 of the transformers library."""

import torch
from tests.capture.scripts.training import begin, train


def losses():
    from transformers import GPT2Config, GPT2LMHeadModel

    begin()
    sizes = {"vocab_size": 50, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    batches = [torch.randint(0, 50, (2, 12)) for _ in range(3)]
    return train(model, batches, lambda ids: model(input_ids=ids, labels=ids).loss)


if __name__ == "__main__":
    print(losses())

"""A tiny BERT with a padding mask."""

import torch
from tests.capture.scripts.training import begin, train


def losses():
    from transformers import BertConfig, BertForSequenceClassification

    begin()
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(**sizes, intermediate_size=32, max_position_embeddings=16)
    model = BertForSequenceClassification(config)
    batches = []
    for _ in range(3):
        mask = torch.arange(12)[None] < torch.tensor([[12], [7], [4]])
        batches.append((torch.randint(0, 50, (3, 12)), mask.long(), torch.tensor([0, 1, 1])))
    return train(
        model, batches, lambda b: model(input_ids=b[0], attention_mask=b[1], labels=b[2]).loss
    )


if __name__ == "__main__":
    print(losses())

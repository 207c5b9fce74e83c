"""TRL's GRPOTrainer plays our games by its tool calls; a group plays one game."""

from pathlib import Path

import gymnasium as gym
import pytest

pytest.importorskip("trl", reason="needs tile-envs[trl]")

import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config

from tile_envs.plug.text import instructions
from tile_envs.plug.trl import TilesTool
from tile_envs.text import describe_actions, parse, show

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries warn of themselves
MOVES = ["up", "left", "jump", "down", "left", "up"]
SEEDS = [3, 4]


def tokenizer():
    """Return a tokenizer of bytes, with the chat template of a model that calls tools."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_of = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    bytes_of.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_of.decoder = decoders.ByteLevel()
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    made = PreTrainedTokenizerFast(tokenizer_object=bytes_of, **ends)
    made.add_tokens(["<|im_start|>", "<tool_call>", "</tool_call>", "<think>", "</think>"])
    templates = Path(trl.__file__).parent / "chat_templates"
    made.chat_template = (templates / "qwen3.jinja").read_text()
    return made


def trainer(folder):
    words = tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = Qwen2Config(vocab_size=len(words), **sizes, **heads, max_position_embeddings=8192)
    prompt = [{"role": "user", "content": instructions(gym.make("Tiles2048-v0").unwrapped.game)}]
    sizes = {"per_device_train_batch_size": 4, "num_generations": 2}
    quiet = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no"}
    quiet |= {"max_steps": 1, "max_completion_length": 4000}
    return Scripted(
        model=AutoModelForCausalLM.from_config(config),
        processing_class=words,
        environment_factory=TilesTool,
        train_dataset=Dataset.from_list([{"prompt": prompt, "seed": seed} for seed in SEEDS]),
        args=trl.GRPOConfig(output_dir=str(folder), **sizes, **quiet),
    )


class Scripted(trl.GRPOTrainer):
    """A trainer whose model says what is written here, the same in each game."""

    def _generate_single_turn(self, prompt_ids, *args, **kwargs):
        self.turns = getattr(self, "turns", -1) + 1
        call = '<tool_call>\n{"name": "move", "arguments": {"action": "%s"}}\n</tool_call>'
        call += "<|im_end|>"
        said = call % MOVES[self.turns] if self.turns < len(MOVES) else "That is all.<|im_end|>"
        return [self.processing_class.encode(said) for _ in prompt_ids], None


def test_equal_calls_meet_equal_boards_in_a_group(tmp_path):
    training = trainer(tmp_path)
    assert [tool.__name__ for tool in training.tools] == ["move"]
    told = {}

    def boards(completions, seed, environments, **_):
        for messages, number, environment in zip(completions, seed, environments, strict=True):
            said = [message["content"] for message in messages if message["role"] == "tool"]
            told.setdefault(number, []).append((said, environment.get_reward()))
        return [0.0] * len(completions)

    training.reward_funcs.insert(0, boards)
    training.reward_func_names.insert(0, "boards")
    training.reward_processing_classes.insert(0, None)
    training.reward_weights = training.reward_weights.new_ones(2)
    training.train()
    assert sorted(told) == SEEDS
    for seed, ((said, score), other) in told.items():
        assert (said, score) == other
        env = gym.make("Tiles2048-v0")
        _, info = env.reset(seed=seed)
        for word, text in zip(MOVES, said, strict=True):
            if word not in describe_actions(info["action_mask"]):
                assert "expected one of" in text
                continue
            board, *_, info = env.step(parse(env.unwrapped.game, word))
            assert text.startswith(show(env.unwrapped.game, board))
        assert score == info["score"]
    first, second = (group[0][0][-1] for group in told.values())
    assert first != second

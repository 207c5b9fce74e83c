"""The former place of `tile_envs.plug.language_model`."""

from tile_envs.plug.language_model import LanguageModel as LanguageModel

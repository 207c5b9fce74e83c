"""See `baselines.agents`."""

from baselines.agents import AGENTS as AGENTS
from baselines.agents import LEARNERS as LEARNERS
from baselines.agents import NAMES as NAMES
from baselines.agents import STRONG as STRONG
from baselines.agents import STRONG_FOLDER as STRONG_FOLDER
from baselines.agents import agent_class as agent_class
from baselines.agents import usual_env as usual_env
from baselines.players import make_agent as make_agent
from baselines.training.learner import learner_class as learner_class

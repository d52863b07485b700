"""The story of a history: facts that several checks share, derived once, and no verdicts.

``calls`` pairs invocations with replies; ``sinklog`` pairs requests at the sink with what became
of them; ``readings`` says which readings may be trusted; ``admissions`` decides which grants
are one admission; ``labels`` gathers all of it per authorization; ``story`` is the whole.

One principle rules here: a derived fact is either *proven* (a lower bound that may accuse) or
*possible* (an upper bound that may excuse), and its name says which.
"""

from .admissions import Admitted, Evidence
from .calls import CallStory
from .labels import LabelStory
from .readings import Reading
from .sinklog import EffectStory
from .story import Story, tell

__all__ = [
    "Admitted",
    "CallStory",
    "EffectStory",
    "Evidence",
    "LabelStory",
    "Reading",
    "Story",
    "tell",
]

"""The same conversations with deepeval: two scripted turns, two stub replies, one check that needs no model."""

import asyncio
import importlib.metadata
import sys

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseConversationalMetric
from deepeval.test_case import ConversationalTestCase, Turn


class Booked(BaseConversationalMetric):
    """The last answer says «Booked»."""

    def __init__(self):
        self.threshold = 1.0
        self.async_mode = True
        self.include_reason = False

    def measure(self, test_case, *args, **kwargs):
        self.score = 1.0 if "Booked" in test_case.turns[-1].content else 0.0
        self.success = self.score >= self.threshold
        self.reason = "it does"
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Booked"


async def answer(_message):
    return "Booked"


async def converse(number):
    turns = []
    for message in (f"hello number {number}", f"book number {number}"):
        turns.append(Turn(role="user", content=message))
        turns.append(Turn(role="assistant", content=await answer(message)))
    return ConversationalTestCase(turns=turns)


async def converse_all(count):
    return [await converse(number) for number in range(count)]


def main():
    count = int(sys.argv[1])
    cases = asyncio.run(converse_all(count))
    result = evaluate(
        test_cases=cases,
        metrics=[Booked()],
        async_config=AsyncConfig(max_concurrent=64),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
    )
    passed = sum(1 for one in result.test_results if one.success)
    if passed != count:
        sys.exit(f"{passed} of {count} passed")
    print(f"deepeval {importlib.metadata.version('deepeval')}")


main()

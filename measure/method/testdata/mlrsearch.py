"""Runs the searches of the PyPI package MLRsearch for oracle_test.go.

JSON lines, one value a line. A search is asked for on standard input with its bounds
and goals; every trial that it wants is written to standard output, and what became of
it is read from standard input; at its end the search's bounds are written.
"""

import json
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)


def say(value):
    print(json.dumps(value), flush=True)


def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


class Pipe(AbstractMeasurer):
    """Asks whoever started this program for trials."""

    def measure(self, intended_duration, intended_load):
        say({"duration_s": intended_duration, "rate_pps": intended_load})
        became = hear()
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=became["intended"],
            forwarding_count=became["received"],
        )


def number(load):
    return None if load is None else float(load)


while (ask := hear()) is not None:
    goals = [SearchGoal(**goal, fail_fast=False) for goal in ask["goals"]]
    config = Config(
        goals=goals,
        min_load=ask["min_pps"],
        max_load=ask["max_pps"],
        search_duration_max=1e9,  # of real time, of which simulated trials take none
        warmup_duration=None,
    )
    found = MultipleLossRatioSearch(config=config).search(measurer=Pipe())
    say({"found": [{
        "throughput": number(found[goal].conditional_throughput),
        "low": number(found[goal].relevant_lower_bound),
        "high": number(found[goal].relevant_upper_bound),
    } for goal in goals]})

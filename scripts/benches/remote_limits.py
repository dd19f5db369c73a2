# SPDX-License-Identifier: BSD-3-Clause
"""remote_limits - targets for frames in an object store, and results

Limits of times are given twice: from the settings of the link, and from what curl gets
on one connection in the same rounds.
"""
import statistics
from dataclasses import dataclass
from typing import NamedTuple

from remote_scene import DELAY, RATE
from report import median

# Random reads in one sample.
READS = 100


class Speed(NamedTuple):
    # Seconds of a round trip, and bytes per second.
    trip: float
    rate: float


SET = Speed(DELAY / 1e3, RATE * 1e6)


@dataclass
class Limit:
    """A value of at most, or at least, @limit; @tell(sample, scene, column, speed)
    gives it."""
    columns: list
    what: str
    limit: float
    tell: object
    at: str = "most"
    of_curl: bool = False

    def is_reached(self, value):
        return value >= self.limit if self.at == "least" else \
            value <= self.limit


def trips(got, scene, column, speed):
    return got["seconds"] / READS / speed.trip


def requests_each(got, scene, column, speed):
    """Requests per read, which are round trips on one connection."""
    return got["requests"] / READS


def of_link(got, scene, column, speed):
    """The share of the link's rate, which carries compressed bytes."""
    ratio = got.get("ratio") or scene.ratios[column.prefix]
    return scene.size / got["seconds"] / ratio / speed.rate


def requests(got, scene, column, speed):
    return got["requests"]


def first_requests(got, scene, column, speed):
    return got["first"]


def kept(got, scene, column, speed):
    return got["kept"] / got["pieces"]


def read_limits(columns, most):
    return [Limit(columns, "requests per read", most, requests_each),
            Limit(columns, f"round trips of {DELAY} ms per read, by time", most,
                  trips),
            Limit(columns, "round trips of curl per read, by time", most, trips,
                  of_curl=True)]


def rate_limits(columns, least):
    return [Limit(columns, f"of {RATE} MB/s x ratio", least, of_link, "least"),
            Limit(columns, "of curl's rate x ratio", least, of_link, "least",
                  of_curl=True)]


def open_limits(columns):
    return [Limit(columns, "requests", 2, requests),
            Limit(columns, "more requests for the first byte", 2,
                  first_requests)]


def race_limits(columns):
    return [Limit(columns, "of the additions are kept", 1, kept, "least")]


def verdicts(limits, scene, samples, curl):
    """Each limit of each column; @curl is the name of curl's column."""
    for limit in limits:
        speed = SET
        if limit.of_curl:
            if curl not in samples:
                continue
            seconds = median(samples[curl])
            speed = Speed(seconds / READS, scene.size / seconds)
        for column in limit.columns:
            if column.name not in samples:
                continue
            taken = samples[column.name]
            value = statistics.median(limit.tell(s, scene, column, speed)
                                      for s in taken)
            yield {"column": column.name, "what": limit.what, "value": value,
                   "at": limit.at, "limit": limit.limit,
                   "busy": median(taken, "busy"),
                   "reached": bool(limit.is_reached(value))}

"""The last of the crash tests by name: every place where the program can be killed was a place of enough deaths."""

import re

from conftest import ROOT
from killing import KILLED, KILLS_PER_PHASE


def test_every_place_saw_enough_kills(record_property):
    places = set()
    for source in ROOT.glob("lake/**/*.cc"):
        if not source.name.endswith("_test.cc"):
            places |= set(re.findall(r'\bCrashPoint\("(\w+)"\)', source.read_text()))
    assert len(places) > 20
    for place in sorted(places):
        record_property(f"kills.{place}", KILLED[place])
        print(f"{KILLED[place]} kills in {place}")
    too_few = {place: KILLED[place] for place in places if KILLED[place] < KILLS_PER_PHASE}
    assert not too_few, "run the whole folder tests/crash"

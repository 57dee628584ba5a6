"""Random values, time and files: what the component gets from the gateway, and what it does not have."""

import subprocess
import sys
import unittest
from pathlib import Path

from connector_sdk import clock
from connector_sdk.testing import Gateway

RANDOM = """
import os
from connector_sdk import randomness

real = os.urandom
randomness.replace_random_values()

import random, secrets, time, uuid
from random import randint  # bound before the first value, as in the module of a connector

BUILD = "not while the module of the connector is loaded"
for source in (lambda: os.urandom(1), lambda: randint(1, 6), random.random, secrets.token_hex, uuid.uuid4, random.Random):
    try:
        source()
    except NotImplementedError as error:
        assert BUILD in str(error), error
    else:
        raise AssertionError(source)

drawn = []
def draw(size):
    drawn.append(size)
    return real(size)

randomness.start(draw)
assert len({random.random() for _ in range(1000)}) == 1000
assert drawn == [32], drawn  # one seed is enough
assert {randint(1, 6) for _ in range(1000)} == {1, 2, 3, 4, 5, 6}
assert random.Random().random() != random.Random().random()
assert random.Random(7).random() == random.Random(7).random()
random.seed(7)
first = random.random()
state = random.getstate()
second = random.random()
random.setstate(state)
assert random.random() == second
random.seed(7)
assert random.random() == first
assert secrets.token_hex() != secrets.token_hex()
assert uuid.uuid4() != uuid.uuid4() and uuid.uuid4().version == 4
assert random.SystemRandom().random() != random.SystemRandom().random()
drawn.clear()
assert len(os.urandom(150_000)) == 150_000 and drawn == [65536, 65536, 18928], drawn
assert os.urandom(0) == b""
"""


TIME = """
from connector_sdk import clocks

clocks.replace_clocks()
slept = []
clocks.replace_sleep(slept.append)

import time
from datetime import date, datetime, timedelta, timezone
import datetime as module

assert time.time() > 1_700_000_000 and datetime.now().year > 2024  # the build's own clock
clocks.start(lambda: 1_700_000_000_123)
assert time.time() == 1_700_000_000.123 and time.time_ns() == 1_700_000_000_123_000_000
assert time.monotonic() == time.perf_counter() == 1_700_000_000.123
assert time.process_time() == time.thread_time() == time.clock_gettime(time.CLOCK_MONOTONIC) == 1_700_000_000.123
assert time.clock_gettime_ns(time.CLOCK_REALTIME) == 1_700_000_000_123_000_000
assert time.get_clock_info("monotonic").resolution == time.clock_getres(time.CLOCK_MONOTONIC) == 0.001
assert time.monotonic_ns() == time.perf_counter_ns() == 1_700_000_000_123_000_000
assert datetime.now(timezone.utc).isoformat() == "2023-11-14T22:13:20.123000+00:00", datetime.now(timezone.utc)
assert datetime.utcnow().isoformat() == "2023-11-14T22:13:20.123000"
assert date.today() == datetime.now().date() == datetime.today().date()
assert time.gmtime()[:6] == (2023, 11, 14, 22, 13, 20) and time.gmtime(0)[0] == 1970
assert time.strftime("%Y") == "2023" and time.strftime("%Y", time.gmtime(0)) == "1970"
assert time.ctime() == time.asctime() and "2023" in time.ctime()

# The replaced classes are as before in every other way.
assert repr(datetime(2026, 1, 2)) == "datetime.datetime(2026, 1, 2, 0, 0)" and repr(date(2026, 1, 2)) == "datetime.date(2026, 1, 2)"
assert datetime.strptime("2026-01-02", "%Y-%m-%d") + timedelta(days=1) == datetime.fromisoformat("2026-01-03")
for value in (datetime.now(), datetime.now() - timedelta(1), datetime.now().date(), date.today()):
    assert isinstance(value, date) and isinstance(value, module.date)
assert isinstance(datetime.now(), datetime) and not isinstance(date.today(), datetime) and issubclass(datetime, date)

class Later(datetime):
    pass

assert isinstance(Later.now(), Later) and isinstance(Later.now(), datetime) and not isinstance(datetime.now(), Later)

time.sleep(1.0005)
time.sleep(0)
assert slept == [1001, 0], slept
for wrong, kind in ((-1, ValueError), (float("nan"), ValueError), (float("inf"), OverflowError), (1e30, OverflowError)):
    try:
        time.sleep(wrong)
    except kind:
        pass
    else:
        raise AssertionError(wrong)
"""

FILES = """
from connector_sdk import missing

missing.refuse_missing()

import asyncio, logging, os, pathlib, sys, threading, time, warnings
from os import listdir
from socket import socket
from urllib.request import urlopen

async def later():
    return 1

print("shown at the build")

assert listdir(".") and open(os.devnull).read() == ""  # at the build
logged = []
write = lambda level, line: logged.append((level, line))
missing.start(write)
missing.start(write)
for use in (lambda: open("x"), lambda: listdir("."), lambda: os.stat("."), lambda: pathlib.Path("x").read_text(), os.getcwd, os.times):
    try:
        use()
    except OSError as error:
        assert "a connector has no files and no processes" in str(error), error
    else:
        raise AssertionError(use)
assert not os.path.exists("/")
import os.path  # what is loaded can still be imported
import _bisect  # and so can what is built in
print("one\\ntwo", end="")
print(" and more", file=sys.stdout, flush=True)
print("begun", end="")
missing.end()
missing.end()
warnings.warn("careful")
logging.getLogger("x").warning("late")
assert logged[:3] == [("info", "one"), ("info", "two and more"), ("info", "begun")], logged
assert any(level == "error" and "careful" in line for level, line in logged) and ("error", "late") in logged, logged
slept = []
time.sleep = slept.append
assert not threading.Event().wait(0.5) and slept == [0.5], slept
try:
    threading.Event().wait()
except RuntimeError as error:
    assert "no threads" in str(error), error
else:
    raise AssertionError("waited")
for use in (input, sys.stdin.read, lambda: urlopen("http://a.example"), lambda: socket(), lambda: asyncio.run(later())):
    try:
        use()
    except OSError as error:
        assert "a connector has no" in str(error), error
    else:
        raise AssertionError(use)
try:
    import colorsys
except ModuleNotFoundError as error:
    assert error.name == "colorsys" and "Import it at the top" in str(error), error
else:
    raise AssertionError("imported")
"""


class Surroundings(unittest.TestCase):
    def run_alone(self, program: str) -> str:
        """Runs a program in a separate process, because it replaces functions in the whole process."""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_random_values_are_those_of_the_gateway_and_there_are_none_in_the_build(self):
        self.run_alone(RANDOM)

    def test_every_clock_shows_the_time_of_the_gateway(self):
        self.run_alone(TIME)

    def test_what_a_component_does_not_have_is_an_exception(self):
        self.assertEqual(self.run_alone(FILES), "shown at the build\n")

    def test_a_function_sleeps_and_a_test_does_not_wait_for_it(self):
        Gateway().now(1000)
        clock.sleep(3_600_000)
        self.assertEqual(clock.now(), 3_601_000)


if __name__ == "__main__":
    unittest.main()

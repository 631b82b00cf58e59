"""The same seed gives the same certificate, byte for byte, however busy the machine is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The second process counts every second as fifty, as on a machine so busy.
SCRIPT = """
import hashlib, json, sys, time
import numpy as np
import dalenius as dl
from dalenius.search.deadline import Deadline

speed = float(sys.argv[1])
Deadline.seconds = property(lambda self: speed * (time.monotonic() - self.began))
LIMIT = 1e6
Q, M = dl.queries, dl.mechanisms

def random(records, outputs, seed):
    rows = int(np.prod(records))
    return dl.Mechanism.from_matrix(np.random.default_rng(seed).dirichlet(np.ones(outputs), size=rows), records)

def audit(mechanism, **options):
    return dl.audit(mechanism, **{"time_limit": LIMIT, "tolerance": 1e-4, **options})

answers = {
    "parity": lambda: audit(M.symmetric(Q.modular_sum(4, 2), flip=0.3), entropy=2.2),
    "count": lambda: audit(M.geometric(Q.count(4), epsilon=1), entropy=2.0, tolerance=1e-6),
    "count of 60": lambda: audit(M.geometric(Q.count(60), epsilon=1), knowledge=0.1),
    "three records": lambda: audit(random([2, 2, 2], 2, 1), knowledge=0.4, tolerance=1e-6),
    "two records": lambda: audit(random([3, 3], 3, 2), knowledge=0.4),
    "unlike records": lambda: audit(random([2, 3, 2], 3, 3), knowledge=0.3, tolerance=1e-3),
    "no limit": lambda: audit(random([2, 2], 4, 4), knowledge=9.0),
    "marginals": lambda: audit(
        M.geometric(Q.count(3), epsilon=1), knowledge=0.3, reference=[[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]]
    ),
    "group": lambda: audit(M.geometric(Q.count(3), epsilon=1), knowledge=0.3, secret=[0, 1]),
    "responses": lambda: audit(M.randomized_response(Q.count(2), epsilon=1), knowledge=0.5),
    "many outputs": lambda: audit(M.geometric(Q.count(420), epsilon=0.01), knowledge=0.1),
    "many records": lambda: audit(M.geometric(Q.count(3000), epsilon=0.1), knowledge=0.3),
    "large histogram": lambda: audit(M.geometric(Q.histogram(500, 3), epsilon=0.5), knowledge=0.2),
    "real": lambda: audit(M.laplace(Q.count(2), epsilon=1, output="real"), knowledge=0.3, tolerance=1e-3),
    "many cells": lambda: audit(random([2] * 15, 2, 5), knowledge=0.1, tolerance=1e-2, secret=0),
    "design": lambda: dl.design(Q.count(2), distortion=0.2, entropy=0.8, time_limit=LIMIT, tolerance=1e-3),
}
for name, answer in answers.items():
    data = answer().certificate.text()
    print(json.dumps([name, hashlib.sha256(data.encode()).hexdigest()]), flush=True)
"""


def digests(speed: float, hash_seed: int) -> dict[str, str]:
    source = Path(__file__).parent.parent / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", SCRIPT, str(speed)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return dict(json.loads(line) for line in answer.stdout.splitlines())


@pytest.mark.nightly
def test_two_processes_write_the_same_certificates() -> None:
    first, second = digests(1.0, 1), digests(50.0, 2)
    assert len(first) >= 12
    assert {name for name in first if first[name] != second[name]} == set()

"""Write golden certificates that are not there yet; those that are there stay as they are.

    PYTHONPATH=src:tests python tests/golden/write.py [--anew]

With --anew all are written again, as the format is changed, but for those that solvers of today do not
write. They are the samples of the fuzzer, one of each kind, and a few more.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import named
from fuzz import joint, pool

import dalenius as dl
from dalenius.bounds.decoys.programme import DecoySearch
from dalenius.designing.designer import DesignSearch
from dalenius.results.audit import Audit
from dalenius.results.design import Design
from dalenius.settings import Limits

HERE = Path(__file__).parent
# Groups whose contraction needs bundles of rows; a tree of posteriors without ratios.
KEPT = ("count-bundles", "posteriors")


def certificates() -> dict[str, pool.Json]:
    """Every kind of proof, witness, secret, reference, output and budget."""
    found = {name: sample.data for name, sample in pool.samples().items() if name != "saved"}
    found["real gaussian"] = pool.audited(
        lambda: named("count(n=2)", "gaussian(sigma=1, output='real')"), knowledge=0.3
    ).data
    found["count, contraction"] = pool.audited(
        lambda: named("count(n=20)", "geometric(epsilon=1)"), knowledge=0.05
    ).data
    found["count, bundles"] = pool.audited(
        lambda: named("count(n=70)", "geometric(epsilon=1)"), tolerance=1e-2, limit=20, knowledge=0.5
    ).data
    found["pairs"] = pool.audited(lambda: named("pairs(n=3)", "laplace(epsilon=1)"), entropy=1.5).data
    found["total"] = pool.audited(
        lambda: named("total(n=2, values=[0, 1, 3])", "exponential(epsilon=1)"), knowledge=0.3
    ).data
    found["identity"] = pool.audited(
        lambda: named("identity(k=3)", "randomized_response(epsilon=1)"), knowledge=0.3
    ).data
    found["constant"] = pool.audited(lambda: named("count(n=3)", "constant()"), knowledge=0.3).data
    found["design, reference"] = pool.designed(distortion=0.3, knowledge=0.3, reference=[0.8, 0.2]).data
    found["mixture"] = pool.designed(leakage=0.1, entropy=0.5).data["audit"]
    quick = DecoySearch(changes=1, sides=2, blocks=5)
    few = DesignSearch(fewer_outputs=(2,), audited_outputs=2, decoys_alone=2, searched_outputs=(2,))
    alone, blocks = (
        dl.Settings(parts=(few, replace(quick, blocks=9))),
        dl.Settings(parts=(quick,), limits=Limits(design_pairs=100)),
    )
    count, many = dl.queries.count(n=6), dl.queries.count(n=30)
    decoy = dl.design(count, distortion=0.6, knowledge=0.1, tolerance=0.5, settings=alone)
    found["decoy"] = decoy.leakage.certificate.data
    found["design, blocks"] = dl.design(many, leakage=0.05, knowledge=0.1, settings=blocks).certificate.data
    found["capacity"] = pool.audited(
        lambda: named("count(n=30)", "geometric(epsilon=0.05)"), "capacity", knowledge=0.5, tolerance=1e-9
    ).data
    found["large, group"] = pool.unwritten("laplace(epsilon=1)", knowledge=0.2, secret=[0, 3]).data
    found["joint"] = joint.honest(None)
    found["joint, knowledge"] = joint.honest(0.5)
    found["saved"] = saved(dl.audit(named("count(n=3)", "geometric(epsilon=1)"), entropy=1.0, tolerance=1e-3))
    found["saved design"] = saved(dl.design(dl.queries.count(n=2), distortion=0.3, entropy=0.5, tolerance=1e-3))
    return found


def saved(answer: Audit | Design) -> pool.Json:
    """What `save` writes."""
    with TemporaryDirectory() as folder:
        answer.save(path := Path(folder) / "saved.json")
        return json.loads(path.read_text())


if __name__ == "__main__":
    for name, data in certificates().items():
        path = HERE / (name.replace(", ", "-").replace(" ", "_") + ".json")
        if not path.exists() or ("--anew" in sys.argv and path.stem not in KEPT):
            path.write_text(json.dumps(data) + "\n")

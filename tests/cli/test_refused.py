"""Every command refuses bad input with one message, exit code 2 and no file, in words and as JSON."""

import shlex
from pathlib import Path

import pytest
from command_line import command, refused

SHORT = {
    "PARITY": "--query 'modular_sum(n=4, modulus=2)' --mechanism 'symmetric(flip=0.3)'",
    "MODULAR": "--query 'modular_sum(n=4, modulus=2)'",
    "COUNT": "--query 'count(n=3)' --mechanism 'geometric(epsilon=1)' --knowledge 0.3",
    "PAIR": "--query 'count(n=2)' --mechanism 'geometric(epsilon=1)'",
    "LARGE": "--query 'count(n=3000)' --mechanism 'geometric(epsilon=1)'",
    "TABLE": "--query 'histogram(n=300, k=4)' --mechanism 'geometric(epsilon=1)' --knowledge 0.3",
    "REAL": "--mechanism \"gaussian(sigma=1, output='real')\"",
    "AT": "--distortion 0.1 --entropy 2.2",
}
FILES = {
    "c.json": "{}",
    "file": "mine",
    "mine/thesis.tex": "mine",
    "old/run.json": '{"format": "dalenius/reproduction", "version": "0.0.1"}',
    "over.csv": "0.8,0.3\n",
    "three.csv": "0.5,0.25,0.25\n",
    "two.csv": "0.8,0.2\n0.8,0.2\n",
    "nan.csv": "nan,1\n",
    "bad.csv": "0.5,0.5\n0.5,0.48\n",
    "law.csv": "0.8,0.2\n",
    "s.toml": '[study]\nname = "s"\n[fix]\nquery = "count(n=2)"\nmechanism = "geometric(epsilon=1)"\n'
    "[vary]\nentropy = [0.5, 1.0]\n",
}
CASES = [
    ("audit PARITY --entropy 3", "entropy = 3.0", "2.77258872224"),
    ("audit PARITY --entropy -1", "entropy = -1.0"),
    ("audit PARITY --entropy nan", "entropy", "nan"),
    ("audit PARITY --entropy lots", "--entropy", "lots"),
    ("audit PARITY --knowledge -1", "knowledge = -1.0"),
    ("audit PARITY", "--knowledge and --entropy", "neither"),
    ("audit --channel bad.csv --records 2 --entropy 0", "bad.csv: row 1 (x = 1) sums to 0.98; rows of a channel must"),
    ("audit PARITY --entropy 1 --save none/f.json", "--save", "there is no directory"),
    ("audit PARITY --entropy 1 --plot .", "--plot", "it is a directory"),
    ("audit LARGE --knowledge 9 --method paper", "paper's method works on all"),
    ("audit TABLE --method paper", "the paper's method works on all about 10^181 datasets"),
    ("audit TABLE --secret 0,1", "histogram(n=300, k=4)"),
    ("ledger relese book.json", "there is no command 'relese'; did you mean 'release'?"),
    ("audit PARITY --entropy 1 --knowledge 1", "--knowledge and --entropy", "both"),
    ("audit --entropy 1", "name what to audit", "none of them"),
    ("audit MODULAR --entropy 1", "--query needs --mechanism"),
    ("audit --mechanism 'symmetric(flip=0.3)' --entropy 1", "--mechanism needs --query"),
    ("audit --channel x.csv --entropy 1", "--channel needs --records"),
    ("audit PARITY --load m.json --entropy 1", "in exactly one way", "--load, --mechanism, --query"),
    ("audit --query 'cuont(n=4)' --mechanism 'symmetric(flip=0.3)' --entropy 1", "'cuont'", "'count'"),
    ("audit --query 'count(m=4)' --mechanism 'symmetric(flip=0.3)' --entropy 1", "'m'", "count has no argument"),
    ("audit MODULAR --mechanism 'simmetric(flip=1)' --entropy 1", "'symmetric'"),
    (
        "audit --query '__import__('\"'\"'os'\"'\"').getcwd()' --mechanism 'symmetric(flip=0.3)' --entropy 1",
        "is not a call",
    ),
    ("audit MODULAR --mechanism 'symmetric(flip=2)' --entropy 1", "flip = 2"),
    ("audit --query 'count(n=0)' --mechanism 'symmetric(flip=0.3)' --entropy 1", "n = 0"),
    ("audit PARITY --entropy 1 --unit bit", "--unit", "bits"),
    ("audit PARITY --entropy 1 --method papper", "--method", "certified", "paper"),
    ("audit PARITY --entropi 1", "--entropi", "--entropy"),
    ("audit PARITY --entropy 1 more", "more"),
    ("audit --channel none.csv --records 2,2 --entropy 1", "cannot read none.csv"),
    ("audit --load none.json --entropy 1", "cannot read none.json"),
    ("audit --channel x.csv --records '2;2' --entropy 1", "'2;2'", "2,2,2"),
    ("audit --channel x.csv --records 2,0 --entropy 1", "record 1 = 0"),
    ("audit PARITY --entropy 1 --method paper --repairs escrot", "'escrot'", "did you mean 'escort'?", "hinge"),
    ("audit PARITY --entropy 1 --method paper --reading loose", "reading = 'loose'", "'proof' or 'strict'"),
    ("audit PARITY --entropy 1 --method paper --reading strict --repairs penalty_owner", "who sets the penalty"),
    ("audit PARITY --entropy 1 --repairs gradient", "repairs is an option", 'method="paper"'),
    ("audit PARITY --entropy 1 --reading proof", "reading is an option", 'method="paper"'),
    ("design AT", "--query"),
    ("design MODULAR --entropy 2", "--distortion and --leakage", "neither"),
    ("design MODULAR AT --leakage 1", "--distortion and --leakage", "both"),
    ("design MODULAR --distortion 1", "--knowledge and --entropy", "neither"),
    ("design MODULAR AT --knowledge 1", "--knowledge and --entropy", "both"),
    ("design MODULAR --distortion 1 --entropy 3", "entropy = 3.0", "2.77258872224"),
    ("design MODULAR --distortion little --entropy 1", "--distortion", "little"),
    ("design --query 'cuont(n=4)' AT", "'cuont'", "'count'"),
    ("design MODULAR AT --measure absolut", "--measure 'absolut'", "absolute, squared, zero-one"),
    ("design MODULAR AT --measure none.csv", "cannot read none.csv"),
    ("design MODULAR AT --p0 none.csv", "cannot read none.csv"),
    ("design MODULAR AT --outputs 0,one", "--outputs '0,one'", "0,1,2"),
    ("design MODULAR AT --outputs ''", "--outputs ''"),
    ("design MODULAR AT --method papper", "--method", "certified", "paper"),
    ("design MODULAR AT --plot p.gif", "--plot p.gif", ".png, .svg, .pdf"),
    ("design MODULAR AT --table t.txt", "--table t.txt", ".csv"),
    ("design MODULAR AT --out x.json --save x.json", "the file of --out"),
    ("profile", "name what to audit in exactly one way"),
    ("profile --query 'modular_sum(n=2, modulus=2)'", "--query needs --mechanism beside it"),
    ("profile PARITY --entropies 0,x", "--entropies '0,x' is not a list of numbers"),
    ("profile PARITY --entropies 7", "entropy = 7.0 nats is not between 0 and log|X|"),
    ("profile PARITY --epsilon -1", "epsilon = -1.0 is out of range"),
    ("profile PARITY --plot p.txt", "--plot p.txt: pictures end in .png, .svg, .pdf"),
    ("curve PAIR", "exactly one of --knowledges and --entropies; neither"),
    ("curve PAIR --entropies a", "not a list of numbers"),
    ("frontier --query 'count(n=2)'", "exactly one of --knowledge and --entropy"),
    ("compose --out joint.json", "one mechanism or more"),
    ("compose --query 'count(n=2)' --out joint.json", "--query and --mechanism go together"),
    ("leakage --query 'count(n=2)'", "--query needs --mechanism"),
    ("ledger show missing.json", "missing.json"),
    ("ledger new book.json --knowledge 1", "name the data in exactly one way"),
    ("ledger new book.json --columns age --n 2 --knowledge 1", "'age' is not a column"),
    ("ledger new book.json --columns age=2 --knowledge 1", "give n="),
    ("ledger new book.json --records 2,2 --n 2 --knowledge 1", "--n 2 goes with --columns"),
    ("ledger new book.json --records 2,2 --knowledge 1 --budget -1", "budget"),
    ("audit --query 'histogram(n=2, k=2)' REAL --entropy 0", "not to histogram"),
    ("audit --query 'identity(k=1)' REAL --entropy 0", "single answer"),
    ("profile --query 'count(n=2)' REAL", "are real numbers"),
    ("audit COUNT --secret 0,0", "record 0 is listed twice"),
    ("audit COUNT --secret 0,3", "record 3 does not exist"),
    ("audit COUNT --secret a,b", "--secret 'a,b' is not a list of records"),
    ("audit COUNT --secret ''", "--secret '' is not a list of records"),
    ("audit COUNT --secret 0,1 --method paper", "not secret="),
    ("audit COUNT --reference missing.csv", "cannot read missing.csv"),
    ("audit COUNT --reference law.doc", "law.doc has suffix '.doc'"),
    ("reproduce", "--out"),
    ("reproduce --out new --only tabel", "there is no experiment 'tabel'; did you mean 'table'?"),
    ("reproduce --out new --jobs 0", "jobs = 0 is too small"),
    ("reproduce --out new --seed -1", "seed = -1 is too small"),
    ("reproduce --out file", "is a file; name a directory"),
    ("reproduce --out mine", "is not empty and holds no run.json"),
    ("reproduce --out old", "is of another run than this one"),
    ("sweep missing.toml", "cannot read"),
    ("sweep s.toml --csv t.txt", "does not end in .csv"),
    ("sweep s.toml --jobs 0", "jobs = 0 is too small"),
    ("sweep s.toml --dask local:x", "local:4"),
    ("sweep s.toml --parquet t.csv", "does not end in .parquet"),
    ("sweep s.toml --store s.toml", "is not a store of a study"),
    ("verify none.json", "none.json: No such file or directory"),
    ("verify", "Missing argument 'CERTIFICATE'"),
    ("verify .", "Is a directory"),
    ("verify c.json --mechanism none.json", "cannot read none.json"),
    ("verify c.json --mechanism c.json", "c.json is not a mechanism file"),
    ("verify c.json --mecanism c.json", "--mechanism"),
    ("verify c.json c.json", "c.json"),
    (f"audit --channel x.csv --records {','.join('2' * 40)} --entropy 1", "10^12 datasets", "count"),
    ("audit COUNT --reference over.csv", "over.csv", "sums to 1.1"),
    ("audit COUNT --reference three.csv", "three.csv", "lists 3 numbers"),
    ("audit COUNT --reference two.csv", "two.csv", "2 laws for 3 records"),
    ("audit COUNT --reference nan.csv", "nan.csv", "holds nan at place 0"),
    ("audit COUNT --reference law.csv --certificate law.csv", "also an input"),
    ("audit PARITY --entropy 1 --reference law.csv", "give knowledge= with reference="),
    ("audit PARITY --entropy 0 --counts", "--counts is about how --channel is read"),
    ("audit PARITY --entropy 1 --save x.json --certificate x.json", "the file of --certificate"),
    ("audit PARITY --entropy 1 --plot p.gif", ".png, .svg, .pdf"),
    ("audit PAIR --knowledge 0.5 --at-most nan", "a budget is a finite number of at least 0"),
    ("audit PAIR --knowledge 0.5 --at-most inf", "a budget is a finite number of at least 0"),
    ("audit PAIR --knowledge 0.5 --at-most -0.1", "a budget is a finite number of at least 0"),
    ("ledger new c.json --records 2,2 --knowledge 1", "exists already"),
    ("calibrate --family symmetric MODULAR --leakage 0.08 --entropy 2.2 --method paper", "--method"),
    ("calibrate MODULAR --leakage 0.08 --entropy 2.2", "--family"),
    ("calibrate --family symmetric --leakage 0.08 --entropy 2.2", "--query"),
    ("calibrate --family symmetric MODULAR --entropy 2.2", "--leakage"),
    ("calibrate --family symmetric MODULAR --leakage 0.08", "--entropy"),
]
JSON = ("audit", "design", "verify")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refused")
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0][:60])
def test_bad_input_is_one_message_and_no_file(
    case: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text, *words = case
    for name, meaning in SHORT.items():
        text = text.replace(name, meaning)
    arguments = shlex.split(text)
    for more in ([], ["--json"]) if arguments[0] in JSON else ([],):
        result = command(*arguments, *more)
        if "dask" not in text or "pip install 'dalenius[dask]'" not in result.stderr:
            refused(result, *words)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(FILES)
    assert all((folder / name).read_text() == text for name, text in FILES.items())

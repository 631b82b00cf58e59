// Python, python-flint and the verifier, in a worker: the page stays responsive, and can end a check that takes too long.
import { loadPyodide } from "./pyodide.mjs";

const CHECK = `
import dataclasses, hashlib, json, pathlib
from dalenius.verifier.verify import verify

def check(content, seconds):
    path = pathlib.Path("/certificate.json")
    path.write_bytes(content.to_bytes())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps(dataclasses.asdict(verify(path, time_limit=seconds)) | {"sha256": digest})
check
`;

const ready = (async () => {
  const [python, flint, verifier] = await Promise.all([
    loadPyodide(),
    fetch("./flint.zip").then((answer) => answer.arrayBuffer()),
    fetch("./verifier.zip").then((answer) => answer.arrayBuffer()),
  ]);
  python.unpackArchive(flint, "wheel");
  python.unpackArchive(verifier, "zip", { extractDir: "/verifier" });
  python.runPython("import sys; sys.path.insert(0, '/verifier')");
  return python.runPython(CHECK);
})();

ready.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "broken", words: String(error) }),
);

onmessage = async ({ data }) => {
  const check = await ready;
  try {
    postMessage({ kind: "verdict", name: data.name, verdict: JSON.parse(check(new Uint8Array(data.content), data.seconds)) });
  } catch (error) {
    postMessage({ kind: "broken", words: String(error) });
  }
};

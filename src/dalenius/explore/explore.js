"use strict";
// The page: controls make a question, the question is the address, and a stream of events draws the answer.
(() => {
  const $ = (id) => document.getElementById(id);
  const form = $("question");
  const token = new URLSearchParams(location.search).get("token");
  const page = Array.from(crypto.getRandomValues(new Uint8Array(9)), (b) => b.toString(36)).join("");
  const phone = matchMedia("(max-width: 40rem)");
  const NATS = { nats: 1, bits: Math.LN2 };
  const TOO_LARGE = 16 * 2 ** 20;
  let view = "release", most = 2.7726, landmarks = [], result = null, running = null, timer = 0, saying = 0, narrow = false;

  // Words and numbers.
  const show = (value, way) => {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const places = Math.abs(value) >= 1e-3 ? 6 : 3 + Math.ceil(-Math.log10(Math.abs(value)));
    const whole = (way === "up" ? Math.ceil : Math.floor)(value * 10 ** places * (way === "up" ? 1 - 1e-15 : 1 + 1e-15));
    return (whole / 10 ** places).toFixed(places);
  };
  const short = (value) => String(Number(value.toPrecision(3)));
  const unit = () => form.elements.unit.value;
  const say = (words, wait = 0) => {
    clearTimeout(saying);
    saying = setTimeout(() => { $("said").textContent = words; }, wait);
  };
  // Markup that the server made: every text in it was escaped there, and the policy of the page runs no script from it.
  const put = (id, markup) => { $(id).innerHTML = markup; };

  // Controls that belong to the chosen query and mechanism; the others are no part of the question.
  const chosen = (select) => select.selectedOptions[0];
  const defaults = (select) => JSON.parse(chosen(select).dataset.defaults);
  const arrange = () => {
    const filed = $("upload-id").value !== "";
    $("named").hidden = filed;
    $("file").hidden = !filed;
    $("upload-id").disabled = !filed;
    for (const one of $("file").querySelectorAll("input, select")) if (one !== $("upload-id")) one.disabled = !filed || $("matrix").hidden;
    const fits = chosen($("query")).dataset.fits.split(" ");
    for (const option of $("mechanism").options) option.disabled = option.hidden = !fits.includes(option.value);
    if (chosen($("mechanism")).disabled) $("mechanism").value = fits[0];
    const takes = Object.keys({ ...defaults($("query")), ...defaults($("mechanism")) });
    for (const one of document.querySelectorAll("[data-for]")) {
      one.hidden = !takes.includes(one.dataset.for);
      $(one.dataset.for).disabled = one.hidden || filed;
    }
    for (const one of [$("query"), $("mechanism")]) one.disabled = filed;
    const independent = form.elements.adversary.value === "independent";
    for (const one of [$("knowledge"), $("slider"), ...$("landmarks").querySelectorAll("button")]) one.disabled = independent;
    for (const one of document.querySelectorAll("[data-view]")) {
      one.dataset.view === view ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current");
    }
    for (const one of document.querySelectorAll("[data-only]")) one.hidden = one.dataset.only !== view;
    $("get-certificate").textContent = view === "frontier" ? "Certificate of the design" : "Certificate";
    sliders();
  };
  const sliders = () => {
    for (const one of form.querySelectorAll("[data-of]")) {
      const value = Number($(one.dataset.of).value), { low, high } = one.dataset;
      one.value = low ? Math.log(value / low) / Math.log(high / low) : value;
      one.disabled = $(one.dataset.of).disabled;
      one.setAttribute("aria-valuetext", $(one.dataset.of).value);
    }
    place();
  };

  // The slider of knowledge: even steps at first, then ever larger ones, since the first rumours matter most.
  const bend = () => 0.2 / NATS[unit()];
  const toSlider = (known) => 1000 * Math.asinh(Math.min(known, most) / bend()) / Math.asinh(most / bend());
  const fromSlider = (at) => {
    const known = bend() * Math.sinh(at / 1000 * Math.asinh(most / bend()));
    return at >= 1000 ? Math.ceil(most * 1e4) / 1e4 : Number(known.toPrecision(3));
  };
  const place = () => {
    const known = Number($("knowledge").value);
    if (document.activeElement !== $("slider")) $("slider").value = toSlider(known);
    const nats = known * NATS[unit()], near = landmarks.findLast((one) => one.knowledge <= known * 1.0001);
    const words = `${short(nats)} nats, ${short(nats / Math.LN2)} bits`;
    const all = known >= most ? "no limit: it may know everything" : near ? `at least as much as: ${near.name}` : "";
    $("both-units").textContent = all ? `${words}; ${all}` : words;
    $("slider").setAttribute("aria-valuetext", $("both-units").textContent);
    for (const one of $("landmarks").querySelectorAll("button")) {
      one.setAttribute("aria-pressed", String(Math.abs(Number(one.dataset.known) - known) <= 0.005 * known));
    }
  };
  const mark = (found) => {
    landmarks = found;
    $("landmarks").replaceChildren(...found.map((one) => {
      const item = document.createElement("li"), button = document.createElement("button");
      const name = document.createElement("span"), cost = document.createElement("span");
      button.type = "button";
      name.textContent = one.name;
      cost.textContent = `${short(one.knowledge)} ${unit()}`;
      button.append(name, cost);
      button.dataset.known = Number(one.knowledge.toPrecision(4));
      button.addEventListener("click", () => { $("knowledge").value = button.dataset.known; moved(); });
      item.append(button);
      return item;
    }));
    $("ticks").replaceChildren(...found.map((one) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line"), at = toSlider(one.knowledge);
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1: 0, y2: 22 })) line.setAttribute(name, value);
      return line;
    }));
    arrange();
  };

  // The question, which is the address.
  const question = () => {
    const fields = new URLSearchParams({ view });
    for (const [name, value] of new FormData(form)) if (String(value).trim() !== "") fields.append(name, value);
    if (!fields.has("adversary")) fields.set("adversary", "bounded");
    return fields;
  };
  // What the address says, where a control cannot hold it: then the answer says what is wrong.
  const asAddressed = () => {
    const fields = question();
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (name !== "token" && value.trim() !== "" && fields.get(name) !== value) fields.set(name, value);
    }
    return fields;
  };
  const address = (fields) => {
    const whole = new URLSearchParams({ token });
    for (const [name, value] of fields) whole.append(name, value);
    return `?${whole}`;
  };
  const restore = () => {
    const given = new URLSearchParams(location.search);
    view = given.get("view") === "frontier" ? "frontier" : "release";
    form.reset();
    $("upload-id").value = given.get("upload") || "";
    $("matrix").hidden = !given.has("records");
    for (const name of ["query", "mechanism"]) {
      const select = $(name);
      if (given.has(name) && [...select.options].some((one) => one.value === given.get(name))) select.value = given.get(name);
      for (const [key, value] of Object.entries(defaults(select))) $(key).value = given.has(name) && key === "names" ? "" : value;
    }
    for (const [name, value] of given) {
      const control = form.elements.namedItem(name);
      if (!control || ["query", "mechanism", "upload", "token"].includes(name)) continue;
      if (control.type === "checkbox") control.checked = value === "yes";
      else control.value = value;
    }
    arrange();
  };

  // Asking: what was asked before is dropped at once, and the new question waits until the hand rests.
  const moved = (push = false) => {
    arrange();
    running?.abort();
    clearTimeout(timer);
    const blank = [...form.querySelectorAll("input[type=number]")].find((one) => !one.disabled && (one.value === "" || !one.validity.valid));
    if (blank) {
      const words = document.querySelector(`label[for=${blank.id}]`).textContent;
      timer = setTimeout(() => trouble(`${words} needs a ${blank.step === "1" ? "whole " : ""}number from ${blank.min}${blank.max ? ` to ${blank.max}` : ""}.`), 600);
      return;
    }
    timer = setTimeout(() => {
      const fields = question();
      history[push ? "pushState" : "replaceState"](null, "", address(fields));
      ask(fields);
    }, push ? 0 : 150);
  };
  const ask = async (fields) => {
    running?.abort();
    const mine = running = new AbortController();
    keep(null);
    $("problem").hidden = true;
    $("results").classList.add("stale");
    $("stage").textContent = "The solver starts.";
    const asked = new URLSearchParams(fields);
    asked.set("page", page);
    narrow = phone.matches;
    if (narrow) asked.set("narrow", "1");
    try {
      const answer = await fetch(`answer${address(asked)}`, { signal: mine.signal, cache: "no-store" });
      if (answer.headers.get("content-type") !== "application/x-ndjson") {
        const told = await answer.json().catch(() => null);
        throw new Error(told?.sentence || "The server refused the question. Open the address that dalenius explore printed.");
      }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "", ended = false;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          if (running !== mine) return;
          const event = JSON.parse(line);
          ended = ended || ["answer", "error", "failed", "frontier"].includes(event.kind);
          draw[event.kind]?.(event);
        }
      }
      if (running === mine && !ended) draw.failed({ sentence: "The solver ended without an answer. Press 'Ask again'." });
    } catch (error) {
      if (error.name === "AbortError" || running !== mine) return;
      const gone = error instanceof TypeError;
      draw.failed({ sentence: gone ? "The server is gone: it was stopped, or has crashed. Start dalenius explore again." : error.message });
    }
  };

  // Events.
  let held = Math.LN2;
  const bracket = (lower, upper) => {
    $("lower").textContent = show(lower, "down");
    $("upper").textContent = show(upper, "up");
    $("unit-shown").textContent = unit();
    $("mini").textContent = `${show(lower, "down")} to ${show(upper, "up")} ${unit()}`;
    $("bar-lower").setAttribute("width", 1000 * Math.min(1, lower / held));
    $("bar-upper").setAttribute("width", 1000 * Math.min(1, upper / held));
    $("bar").setAttribute("aria-label", `The bracket, ${show(lower, "down")} to ${show(upper, "up")}, on a scale from 0 to ${short(held)} ${unit()}`);
  };
  const keep = (name) => {
    result = name;
    for (const id of ["get-report", "get-certificate"]) $(id).disabled = !name;
  };
  const draw = {
    release(event) {
      most = event.most;
      held = event.held;
      $("held").textContent = `${short(held)} ${unit()}, everything`;
      $("problem-words").textContent = event.words;
      put("channel", event.channel);
      for (const [id, [value, means]] of [["dp-epsilon", event.epsilon], ["expected-error", event.error]]) {
        $(id).textContent = value;
        $(`${id}-means`).textContent = means;
      }
      $("python").textContent = event.python;
      $("command").textContent = event.command;
      $("beside").textContent = "–";
      for (const id of ["curve-chart", "frontier-chart", "designed-channel", "prior"]) put(id, "");
      for (const id of ["verdict", "assumed", "curve-left", "frontier-left"]) $(id).textContent = "";
      if (form.elements.adversary.value === "independent") $("beside").textContent = "as above";
      if (event.file) {
        $("file-name").textContent = event.file;
        $("file-words").textContent = event.words;
        $("matrix").hidden = event.what !== "matrix";
      }
      bracket(0, held);
      $("results").classList.remove("stale");
      mark(event.landmarks);
    },
    bracket(event) {
      bracket(event.lower, event.upper);
      $("stage").textContent = event.seconds ? `So far, by ${event.stage}, after ${event.seconds.toFixed(1)} s; the search goes on.` : "Nothing is known yet; the search begins.";
    },
    answer(event) {
      bracket(event.lower, event.upper);
      $("stage").textContent = event.closed ? `Found in ${event.seconds.toFixed(1)} s.` : `After ${event.seconds.toFixed(1)} s the search has ended with these bounds.`;
      $("verdict").textContent = event.verdict;
      $("assumed").textContent = event.assumed;
      put("prior", event.prior);
      keep(event.result);
      say(event.verdict, 400);
    },
    beside(event) { $("beside").textContent = event.words; },
    curve(event) {
      put("curve-chart", event.chart);
      $("curve-left").textContent = event.left ? `${event.left} more points are on the way.` : "";
    },
    whole() { $("curve-left").textContent = ""; },
    frontier(event) {
      put("frontier-chart", event.chart);
      $("frontier-left").textContent = event.left ? `On the way: ${event.left}.` : "";
      if (event.result) keep(event.result);
      if (!event.left) say("The frontier is drawn.", 400);
    },
    designed(event) {
      $("designed-words").textContent = event.words;
      put("designed-channel", event.channel);
      keep(event.result);
    },
    error(event) { trouble(event.sentence); },
    failed(event) { trouble(event.sentence); },
  };
  const trouble = (sentence) => {
    $("sentence").textContent = sentence;
    $("problem").hidden = false;
    $("results").classList.add("stale");
    $("stage").textContent = "There is no answer to this question.";
    // Nothing of another question may stand here as if it were the answer.
    for (const id of ["verdict", "assumed", "mini"]) $(id).textContent = "";
    for (const id of ["lower", "upper", "dp-epsilon", "expected-error", "beside"]) $(id).textContent = "–";
    for (const id of ["curve-chart", "frontier-chart", "designed-channel", "prior", "channel"]) put(id, "");
    $("bar-lower").setAttribute("width", 0);
    $("bar-upper").setAttribute("width", 0);
    if (!$("file").hidden && !$("matrix").hidden) $("reading").open = true;
  };

  // Files.
  const send = async (file) => {
    if (!file) return;
    if (file.size > TOO_LARGE) {
      running?.abort();
      return trouble(`${file.name} has ${(file.size / 2 ** 20).toFixed(0)} MB; this page reads 16 MB at most. Use dalenius audit --channel FILE on the command line.`);
    }
    running?.abort();
    try {
      const answer = await fetch(`upload${address([["name", file.name]])}`, { method: "POST", body: file });
      const told = await answer.json();
      if (told.kind !== "file") return trouble(told.sentence);
      $("upload-id").value = told.upload;
      $("file-name").textContent = told.name;
      $("file-words").textContent = told.words;
      $("matrix").hidden = told.what !== "matrix";
      $("records").value = "";
      for (const [name, value] of Object.entries(told.fields)) form.elements.namedItem(name).value = value;
      say(`${told.name} was read: ${told.words}.`);
      moved(true);
    } catch {
      trouble(`${file.name} could not be sent: the server is gone, or the file changed meanwhile. Drop it again, or start dalenius explore again.`);
    } finally {
      $("upload").value = "";
    }
  };
  const fetched = async (path, name) => {
    try {
      const answer = await fetch(`${path}${address([["result", result]])}`);
      if (!answer.ok) return trouble((await answer.json()).sentence);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
      say(`${name} was saved.`);
    } catch {
      trouble("The server is gone: it was stopped, or has crashed. Start dalenius explore again.");
    }
  };

  // Hands.
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const control = event.target;
    if (control.type === "file" || control.name === "unit") return;
    if (control === $("slider")) $("knowledge").value = fromSlider(Number(control.value));
    if (control.dataset.of) {
      const { low, high, of } = control.dataset;
      $(of).value = low ? Number((low * (high / low) ** control.value).toPrecision(2)) : control.value;
    }
    if (control === $("query") || control === $("mechanism")) for (const [name, value] of Object.entries(defaults(control))) $(name).value = value;
    moved(control.tagName === "SELECT" || control.type === "radio" || control.type === "checkbox");
  });
  for (const one of form.elements.unit) {
    one.addEventListener("change", () => {
      const factor = one.value === "bits" ? 1 / Math.LN2 : Math.LN2;
      $("knowledge").value = Number((Number($("knowledge").value) * factor).toPrecision(6));
      most *= factor;
      moved(true);
    });
  }
  for (const one of document.querySelectorAll("[data-view]")) {
    one.addEventListener("click", (event) => { event.preventDefault(); view = one.dataset.view; moved(true); });
  }
  for (const name of ["python", "command"]) {
    $(`show-${name}`).addEventListener("click", (event) => {
      const panel = $(`${name}-panel`);
      panel.hidden = !panel.hidden;
      event.target.setAttribute("aria-expanded", String(!panel.hidden));
    });
  }
  for (const one of document.querySelectorAll("[data-copy]")) {
    one.addEventListener("click", () => navigator.clipboard.writeText($(one.dataset.copy).textContent).then(() => say("Copied."), () => say("It could not be copied; select the text.")));
  }
  $("get-report").addEventListener("click", () => fetched("report", "report.html"));
  $("get-certificate").addEventListener("click", () => fetched("certificate", "certificate.json"));
  $("ask-again").addEventListener("click", () => ask(question()));
  $("no-file").addEventListener("click", () => { $("upload-id").value = ""; moved(true); $("query").focus(); });
  $("upload").addEventListener("change", () => send($("upload").files[0]));
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dragging"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dragging"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    send(event.dataTransfer.files[0]);
  });
  addEventListener("popstate", () => { restore(); ask(asAddressed()); });
  addEventListener("pagehide", () => running?.abort());
  addEventListener("pageshow", (event) => { if (event.persisted) ask(question()); });
  phone.addEventListener("change", () => setTimeout(() => { if (phone.matches !== narrow) ask(question()); }, 200));

  restore();
  history.replaceState(null, "", address(asAddressed()));
  ask(asAddressed());
})();

"use strict";
// Numbers of information are kept in nats; the switch shows them in the other unit, rounded the way each bound may be.
(() => {
  const nats = { nats: 1, bits: Math.LN2 };
  const tiny = (value, way) => {
    // Three digits; the next one outward where these are not.
    const [digits, power] = value.toExponential(2).split("e").map(Number);
    const near = Number(`${digits}e${power}`), step = { up: near < value, down: near > value }[way] || false;
    return ((Math.round(digits * 100) + (step ? (way === "up" ? 1 : -1) : 0)) / 100).toFixed(2) + "e" + power;
  };
  const show = (value, way) => {
    if (value === 0) return "0";
    if (way === "short") return String(Number(value.toPrecision(4)));
    if (Math.abs(value) < 1e-6) return tiny(value, way);
    const places = Math.abs(value) >= 1e-4 ? 6 : 4 - Math.floor(Math.log10(Math.abs(value)));
    // A little outward before rounding: the division by log 2 is itself rounded.
    const outward = value * (way === "up" ? 1 + 1e-14 : way === "down" ? 1 - 1e-14 : 1);
    const whole = { up: Math.ceil, down: Math.floor }[way] || Math.round;
    return (whole(outward * 10 ** places) / 10 ** places).toFixed(places);
  };
  const change = (unit) => {
    const of = (value, way) => show(Number(value) / nats[unit], way);
    for (const one of document.querySelectorAll(".info")) one.textContent = of(one.dataset.nats, one.dataset.round);
    for (const one of document.querySelectorAll(".unit")) one.textContent = unit;
    // What a mark says when it is pointed at.
    for (const one of document.querySelectorAll("[data-low]")) {
      const { about, at, low, high } = one.dataset;
      const place = at === undefined ? "" : ` ${of(at, "short")} ${unit}`;
      const words = `${about}${place}: ${of(low, "down")} to ${of(high, "up")} ${unit}`;
      one.setAttribute("aria-label", words);
      one.querySelector("title").textContent = words;
    }
  };
  // Under each chart a line that repeats what is pointed at, at once, on screens without a mouse too.
  for (const chart of document.querySelectorAll("svg.chart")) {
    const line = document.createElement("p");
    line.className = "read soft";
    line.setAttribute("aria-hidden", "true");
    line.textContent = "\u00a0";
    chart.after(line);
    const read = (event) => {
      const mark = event.target.closest("g");
      line.textContent = (mark && mark.querySelector("title") && mark.querySelector("title").textContent) || "\u00a0";
    };
    for (const name of ["pointerover", "focusin", "click"]) chart.addEventListener(name, read);
  }
  const form = document.querySelector(".units");
  if (!form) return;
  form.hidden = false;
  // Results of several units are brought to one at once.
  change(form.querySelector("input:checked").value);
  form.addEventListener("change", (event) => {
    change(event.target.value);
    document.getElementById("said").textContent = "Numbers and charts are in " + event.target.value + ".";
  });
})();

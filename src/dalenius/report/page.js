"use strict";
// Numbers of information are kept in nats; the switch shows them in the other unit, rounded the way each bound may be.
(() => {
  const nats = { nats: 1, bits: Math.LN2 };
  const show = (value, way) => {
    if (value === 0) return "0";
    if (way === "short") return String(Number(value.toPrecision(4)));
    const places = Math.abs(value) >= 1e-4 ? 6 : 4 - Math.floor(Math.log10(Math.abs(value)));
    // A little outward before rounding: the division by log 2 is itself rounded.
    const outward = value * (way === "up" ? 1 + 1e-14 : way === "down" ? 1 - 1e-14 : 1);
    const whole = { up: Math.ceil, down: Math.floor }[way] || Math.round;
    return (whole(outward * 10 ** places) / 10 ** places).toFixed(places);
  };
  const change = (unit) => {
    for (const one of document.querySelectorAll(".info")) one.textContent = show(Number(one.dataset.nats) / nats[unit], one.dataset.round);
    for (const one of document.querySelectorAll(".unit")) one.textContent = unit;
  };
  const form = document.querySelector(".units");
  form.hidden = false;
  // Results of several units are brought to one at once.
  change(form.querySelector("input:checked").value);
  form.addEventListener("change", (event) => {
    change(event.target.value);
    document.getElementById("said").textContent = "Numbers of information are in " + event.target.value + ".";
  });
})();

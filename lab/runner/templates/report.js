"use strict";
(() => {
  const bar = document.querySelector(".filters");
  const selects = [...bar.querySelectorAll("select")];
  const clear = bar.querySelector("button");
  const told = bar.querySelector("output");
  const tagged = [...document.querySelectorAll("[data-workload], [data-runtime]")];
  const rows = [...document.querySelectorAll("section tr[data-dress]")];
  const gone = (each) => each.hasAttribute("data-hidden");

  // Coflux is what all others are compared with: its column stays, and so do the contenders that beat it where it alone is asked for.
  const accompanies = (each, runtime) => runtime === "coflux" ? each.matches(".rival") : each.dataset.runtime === "coflux" && each.matches("td, th");
  const matches = (each) => selects.every(({ value, dataset: { filter } }) => !value || !(filter in each.dataset)
    || each.dataset[filter] === value || (filter === "runtime" && accompanies(each, value)));

  const apply = () => {
    for (const each of tagged) each.toggleAttribute("data-hidden", !matches(each));
    for (const row of document.querySelectorAll("tr:has(.rival)")) {
      row.toggleAttribute("data-hidden", !matches(row) || [...row.querySelectorAll(".rival")].every(gone));
    }
    for (const table of document.querySelectorAll(".scroll")) {
      const empty = [...table.querySelectorAll("tr:has(td)")].every(gone);
      table.toggleAttribute("data-hidden", empty);
      const next = table.nextElementSibling;
      if (next?.matches(".nothing")) next.hidden = !empty;
    }
    const active = selects.some(({ value }) => value);
    const mixed = selects.some(({ value, dataset: { filter } }) => value && filter !== "workload");
    const shown = rows.filter((each) => !gone(each) && !gone(each.closest("section"))).length;
    told.textContent = active ? `${shown} of ${rows.length} rows with a figure.${mixed ? " Charts show all runtimes." : ""}` : "";
    clear.hidden = !active;
  };
  for (const select of selects) select.addEventListener("change", apply);
  clear.addEventListener("click", () => {
    for (const select of selects) select.value = "";
    apply();
    selects[0].focus();
  });

  // What can be scrolled can be reached by keyboard, and nothing else is a stop on the way.
  const reach = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const each of document.querySelectorAll(".scroll, .chart")) reach.observe(each);

  bar.hidden = false;
  apply();
})();

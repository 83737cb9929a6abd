"use strict";
// Colours by hand, finding rows, numbers that open their SQL. Without scripts the book is whole, only longer.

const root = document.documentElement;
const theme = document.querySelector("button.theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
}

function nameTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
}

theme.hidden = false;
nameTheme();
system.addEventListener("change", nameTheme);
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("leadhouse-theme", root.dataset.theme); } catch (error) { /* a browser that keeps nothing */ }
  nameTheme();
});

for (const input of document.querySelectorAll("input[data-filter]")) {
  const rows = [...document.querySelectorAll(input.dataset.filter)].flatMap((list) => [...list.children]);
  const status = input.parentElement.querySelector("[role=status]");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    rows.forEach((row, n) => {
      row.hidden = !words.every((word) => texts[n].includes(word));
      found += row.hidden ? 0 : 1;
    });
    for (const section of document.querySelectorAll("main section")) {
      const own = section.querySelectorAll(input.dataset.filter);
      if (own.length && own[0].matches("ul")) section.hidden = ![...own].some((list) => [...list.children].some((row) => !row.hidden));
    }
    status.textContent = words.length ? `${found} of ${rows.length}` : "";
  });
}

document.addEventListener("click", (event) => {
  const number = event.target.closest("[data-sql]");
  if (!number || event.target.closest("a, details.sql") || getSelection().toString()) return;
  const sql = document.getElementById(number.dataset.sql);
  if (!sql || number.tagName === "TABLE") return;
  for (let outer = sql; outer; outer = outer.parentElement.closest("details")) outer.open = true;
  sql.scrollIntoView({ block: "nearest" });
});
